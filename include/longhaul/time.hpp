// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace longhaul {

/// Length of time, in nanoseconds.
using Duration = std::chrono::nanoseconds;

/// The clock of the protocol. It has no `now()` on purpose: time always comes in as an argument,
/// so the same code runs on the machine's clock and on the simulator's.
struct TransportClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = Duration;
  using time_point = std::chrono::time_point<TransportClock, Duration>;
  static constexpr bool is_steady = true;
};

/// A moment on `TransportClock`; the epoch is arbitrary, only differences mean anything.
using Timestamp = TransportClock::time_point;

/// Later than every moment that occurs; the value of "no timer".
inline constexpr Timestamp kNever = Timestamp::max();

}  // namespace longhaul
