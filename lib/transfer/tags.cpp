// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/tags.hpp"

#include <algorithm>

namespace longhaul::transfer {

std::size_t Endings::kind_of(Tag tag, std::uint64_t n) const {
  const auto it = ended_.find(tag);
  if (it == ended_.end()) return kStatuses.size();
  const auto holds = [n](const base::IntervalSet& set) { return set.contains(n); };
  return static_cast<std::size_t>(std::ranges::find_if(it->second, holds) - it->second.begin());
}

Status Endings::find(Tag tag, std::uint64_t n) const {
  const std::size_t kind = kind_of(tag, n);
  return kind == kStatuses.size() ? Status::pending : kStatuses[kind];
}

bool Endings::note(Tag tag, std::uint64_t n, Status status) {
  if (kind_of(tag, n) < kStatuses.size()) return true;
  auto kind = static_cast<std::size_t>(std::ranges::find(kStatuses, status) - kStatuses.begin());
  if (kind == kStatuses.size()) kind = 0;
  if (intervals_ >= intervals_max_) {
    // Room is left only where it lengthens an interval.
    const auto it = ended_.find(tag);
    const bool joins = it != ended_.end() && (it->second[kind].contains(n + 1) ||
                                              (n > 0 && it->second[kind].contains(n - 1)));
    if (!joins) return false;
  }
  base::IntervalSet& set = ended_[tag][kind];
  intervals_ -= set.intervals().size();
  set.insert(n, n + 1);
  intervals_ += set.intervals().size();
  return true;
}

void Endings::forget(Tag tag, std::uint64_t n) {
  const std::size_t kind = kind_of(tag, n);
  if (kind == kStatuses.size()) return;
  const auto it = ended_.find(tag);
  base::IntervalSet& set = it->second[kind];
  intervals_ -= set.intervals().size();
  set.erase(n, n + 1);
  intervals_ += set.intervals().size();
  if (std::ranges::all_of(it->second, [](const auto& each) { return each.empty(); }))
    ended_.erase(it);
}

std::uint64_t Tags::next(Tag tag) const {
  const auto it = next_.find(tag);
  return it == next_.end() ? 0 : it->second;
}

Status Tags::take_ended(Tag tag, std::uint64_t n) {
  const Status status = early_.find(tag, n);
  if (status != Status::pending) early_.forget(tag, n);
  return status;
}

}  // namespace longhaul::transfer
