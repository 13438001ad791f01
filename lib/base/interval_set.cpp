// SPDX-License-Identifier: Apache-2.0
#include "lib/base/interval_set.hpp"

#include <algorithm>
#include <limits>

namespace longhaul::base {

std::size_t IntervalSet::lower(std::uint64_t value) const noexcept {
  if (intervals_.empty() || intervals_.back().end < value) return intervals_.size();
  if (intervals_.back().begin <= value) return intervals_.size() - 1;
  const auto it = std::ranges::lower_bound(intervals_, value, {}, &Interval::end);
  return static_cast<std::size_t>(it - intervals_.begin());
}

std::uint64_t IntervalSet::insert(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return 0;
  const std::size_t first = lower(begin);
  if (first == intervals_.size() || end < intervals_[first].begin) {
    intervals_.insert(intervals_.begin() + static_cast<std::ptrdiff_t>(first), {begin, end});
    total_ += end - begin;
    return end - begin;
  }
  std::size_t last = first;
  std::uint64_t present = 0;
  while (last < intervals_.size() && intervals_[last].begin <= end) {
    present += intervals_[last].length();
    ++last;
  }
  Interval& merged = intervals_[first];
  merged.begin = std::min(merged.begin, begin);
  merged.end = std::max(intervals_[last - 1].end, end);
  const std::uint64_t added = merged.length() - present;
  intervals_.erase(intervals_.begin() + static_cast<std::ptrdiff_t>(first + 1),
                   intervals_.begin() + static_cast<std::ptrdiff_t>(last));
  total_ += added;
  return added;
}

std::uint64_t IntervalSet::erase(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return 0;
  std::size_t i = lower(begin + 1);
  std::uint64_t removed = 0;
  if (i < intervals_.size() && intervals_[i].begin < begin) {
    const std::uint64_t old_end = intervals_[i].end;
    if (old_end > end) {
      intervals_[i].end = begin;
      intervals_.insert(intervals_.begin() + static_cast<std::ptrdiff_t>(i + 1), {end, old_end});
      total_ -= end - begin;
      return end - begin;
    }
    removed += old_end - begin;
    intervals_[i].end = begin;
    ++i;
  }
  std::size_t last = i;
  while (last < intervals_.size() && intervals_[last].end <= end) {
    removed += intervals_[last].length();
    ++last;
  }
  if (last < intervals_.size() && intervals_[last].begin < end) {
    removed += end - intervals_[last].begin;
    intervals_[last].begin = end;
  }
  intervals_.erase(intervals_.begin() + static_cast<std::ptrdiff_t>(i),
                   intervals_.begin() + static_cast<std::ptrdiff_t>(last));
  total_ -= removed;
  return removed;
}

void IntervalSet::clear() noexcept {
  intervals_.clear();
  total_ = 0;
}

bool IntervalSet::contains(std::uint64_t value) const noexcept {
  return containing(value).length() != 0;
}

bool IntervalSet::covers(std::uint64_t begin, std::uint64_t end) const noexcept {
  if (begin >= end) return true;
  const std::size_t i = lower(end);
  return i < intervals_.size() && intervals_[i].begin <= begin;
}

bool IntervalSet::intersects(std::uint64_t begin, std::uint64_t end) const noexcept {
  if (begin >= end) return false;
  const std::size_t i = lower(begin + 1);
  return i < intervals_.size() && intervals_[i].begin < end;
}

Interval IntervalSet::containing(std::uint64_t value) const noexcept {
  // The largest number is in no half-open range, and has no successor to look for.
  if (value == std::numeric_limits<std::uint64_t>::max()) return {value, value};
  const std::size_t i = lower(value + 1);
  if (i < intervals_.size() && intervals_[i].begin <= value) return intervals_[i];
  return {value, value};
}

std::uint64_t IntervalSet::first_missing(std::uint64_t from) const noexcept {
  return containing(from).end;
}

std::uint64_t IntervalSet::first_member(std::uint64_t from) const noexcept {
  if (from == UINT64_MAX) return from;
  const std::size_t i = lower(from + 1);
  if (i == intervals_.size()) return UINT64_MAX;
  return std::max(from, intervals_[i].begin);
}

Interval IntervalSet::next_gap(std::uint64_t from, std::uint64_t limit) const noexcept {
  const std::uint64_t begin = first_missing(from);
  if (begin >= limit) return {limit, limit};
  const std::size_t i = lower(begin + 1);
  const std::uint64_t end = i < intervals_.size() ? std::min(intervals_[i].begin, limit) : limit;
  return {begin, end};
}

}  // namespace longhaul::base
