// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "longhaul/time.hpp"

namespace longhaul::apps::perf {

using Clock = std::chrono::steady_clock;

/// What crossed between two marks. Times count from the first mark of its kind (omitted or not).
struct Interval {
  Duration begin{0};
  Duration end{0};
  std::uint64_t bytes = 0;
  bool omitted = false;

  double seconds() const noexcept { return std::chrono::duration<double>(end - begin).count(); }
  double bits_per_second() const noexcept {
    return seconds() > 0 ? 8.0 * static_cast<double>(bytes) / seconds() : 0;
  }
};

/// Cuts a test into intervals. It is fed with a growing byte count and decides when a mark is due;
/// the end of the omitted time is always one. Result: bytes and time between the first mark that
/// counts and the last.
class IntervalMeter {
 public:
  /// `interval` 0 = no marks but those of `omit` and the end.
  IntervalMeter(Duration interval, Duration omit) noexcept : interval_(interval), omit_(omit) {}

  void start(Clock::time_point now, std::uint64_t bytes) noexcept;
  bool started() const noexcept { return started_; }
  bool finished() const noexcept { return finished_; }
  /// When `advance` will next have something to do; nothing before the start and after the end.
  std::optional<Clock::time_point> next_mark() const noexcept;
  /// Closes the current interval if its mark is due at `now`.
  std::optional<Interval> advance(Clock::time_point now, std::uint64_t bytes);
  /// Takes the last mark. Returns the part since the one before, unless it is empty.
  std::optional<Interval> finish(Clock::time_point now, std::uint64_t bytes);

  bool omitting() const noexcept { return omitting_; }
  /// Start of the time that counts (once `omitting()` is over).
  Clock::time_point counted_from() const noexcept { return base_; }
  /// Bytes and time that count so far.
  std::uint64_t bytes() const noexcept { return last_bytes_ - base_bytes_; }
  Duration duration() const noexcept { return last_mark_ - base_; }

 private:
  Interval close(Clock::time_point now, std::uint64_t bytes) noexcept;

  Duration interval_;
  Duration omit_;
  Clock::time_point base_{};
  Clock::time_point last_mark_{};
  std::uint64_t base_bytes_ = 0;
  std::uint64_t last_bytes_ = 0;
  bool started_ = false;
  bool finished_ = false;
  bool omitting_ = false;
};

}  // namespace longhaul::apps::perf
