// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "longhaul/time.hpp"

namespace longhaul::apps::wan {

/// One look at both clocks: the kernel stamps frames by the wall clock, the line runs on the
/// monotonic one.
struct Clocks {
  Timestamp now{};
  std::int64_t realtime_ns = 0;

  static Clocks read() noexcept;
  /// A stamp on the monotonic clock. It may be later than `now`: while one lane is served, frames
  /// of the next arrive. One that is much later is of a wall clock that was set, and counts as now.
  Timestamp of_stamp(std::int64_t stamp_ns) const noexcept {
    const Duration ahead{stamp_ns - realtime_ns};
    return ahead >= std::chrono::seconds(1) ? now : now + ahead;
  }
};

Timestamp monotonic_now() noexcept;
/// Sleeps until a moment, as exactly as the kernel can; signals that are blocked do not end it.
void sleep_until(Timestamp time) noexcept;

}  // namespace longhaul::apps::wan
