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
  /// A stamp on the monotonic clock. One from the future came after the look; one from far in it
  /// tells of a wall clock that was set back, and counts as now.
  Timestamp of_stamp(std::int64_t stamp_ns) const noexcept {
    const Duration age{realtime_ns - stamp_ns};
    return age > -kLookLasts ? now - age : now;
  }

 private:
  static constexpr Duration kLookLasts = std::chrono::milliseconds(20);
};

Timestamp monotonic_now() noexcept;
/// Sleeps until a moment, as exactly as the kernel can; signals that are blocked do not end it.
void sleep_until(Timestamp time) noexcept;

}  // namespace longhaul::apps::wan
