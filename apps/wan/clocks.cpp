// SPDX-License-Identifier: Apache-2.0
#include "apps/wan/clocks.hpp"

#include <ctime>

namespace longhaul::apps::wan {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t read_clock(clockid_t clock) noexcept {
  timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

}  // namespace

Clocks Clocks::read() noexcept {
  // In this order, so that what comes between the two makes a frame late and not early.
  const std::int64_t realtime_ns = read_clock(CLOCK_REALTIME);
  return {monotonic_now(), realtime_ns};
}

Timestamp monotonic_now() noexcept {
  return Timestamp{} + Duration{read_clock(CLOCK_MONOTONIC)};
}

void sleep_until(Timestamp time) noexcept {
  const std::int64_t count = time.time_since_epoch().count();
  const timespec until{count / kSecond, count % kSecond};
  ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

}  // namespace longhaul::apps::wan
