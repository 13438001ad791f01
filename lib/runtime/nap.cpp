// SPDX-License-Identifier: Apache-2.0
#include "lib/runtime/nap.hpp"

#include <sys/prctl.h>
#include <time.h>

namespace longhaul::runtime {

void sharpen_naps() noexcept {
  constexpr unsigned long kSlackNanoseconds = 1000;
  prctl(PR_SET_TIMERSLACK, kSlackNanoseconds, 0UL, 0UL, 0UL);
}

void nap(Duration time) noexcept {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  const timespec request{.tv_sec = seconds.count(), .tv_nsec = (time - seconds).count()};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &request, nullptr);
}

}  // namespace longhaul::runtime
