// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/intervals.hpp"

#include <algorithm>

namespace longhaul::apps::perf {

namespace {

// A rest shorter than this has no rate worth a line.
constexpr Duration kShortest = std::chrono::milliseconds(1);

}  // namespace

void IntervalMeter::start(Clock::time_point now, std::uint64_t bytes) noexcept {
  started_ = true;
  omitting_ = omit_.count() > 0;
  base_ = last_mark_ = now;
  base_bytes_ = last_bytes_ = bytes;
}

std::optional<Clock::time_point> IntervalMeter::next_mark() const noexcept {
  if (!started_ || finished_) return {};
  std::optional<Clock::time_point> next;
  if (interval_.count() > 0) {
    // Marks stand on the grid of the base, so that a late one does not delay those after it.
    next = base_ + ((last_mark_ - base_) / interval_ + 1) * interval_;
  }
  if (omitting_) {
    const Clock::time_point omit_end = base_ + omit_;
    next = next ? std::min(*next, omit_end) : omit_end;
  }
  return next;
}

Interval IntervalMeter::close(Clock::time_point now, std::uint64_t bytes) noexcept {
  const Interval interval{last_mark_ - base_, now - base_, bytes - last_bytes_, omitting_};
  last_mark_ = now;
  last_bytes_ = bytes;
  return interval;
}

std::optional<Interval> IntervalMeter::advance(Clock::time_point now, std::uint64_t bytes) {
  const auto due = next_mark();
  if (!due || now < *due) return {};
  const Interval interval = close(now, bytes);
  if (omitting_ && now >= base_ + omit_) {
    omitting_ = false;
    base_ = now;
    base_bytes_ = bytes;
  }
  return interval;
}

std::optional<Interval> IntervalMeter::finish(Clock::time_point now, std::uint64_t bytes) {
  if (!started_ || finished_) return {};
  finished_ = true;
  const Interval rest = close(now, bytes);
  if (interval_.count() == 0 || (rest.end - rest.begin < kShortest && rest.bytes == 0)) return {};
  return rest;
}

}  // namespace longhaul::apps::perf
