// SPDX-License-Identifier: Apache-2.0
#include "lib/runtime/clock.hpp"

#include <time.h>

namespace longhaul::runtime {

Timestamp MachineClock::now() const noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return Timestamp(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

}  // namespace longhaul::runtime
