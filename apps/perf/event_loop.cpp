// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/event_loop.hpp"

#include <poll.h>

#include <algorithm>
#include <array>

namespace longhaul::apps::perf {

namespace {

// Completions taken at once; more are taken in the next round of the same call.
constexpr std::size_t kBatch = 256;
// Rounds in one call: beyond it the caller gets its turn although more may wait.
constexpr int kRounds = 64;

timespec until_timespec(Clock::time_point until) {
  const Duration left =
      std::clamp<Duration>(until - Clock::now(), Duration{0}, std::chrono::hours(1));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {static_cast<time_t>(seconds.count()), static_cast<long>((left - seconds).count())};
}

}  // namespace

bool EventLoop::drain(const Handler& handler) {
  bool any = false;
  std::array<Completion, kBatch> batch;
  for (Endpoint* endpoint : endpoints_) {
    for (int round = 0; round < kRounds; ++round) {
      const std::size_t count = endpoint->poll(batch);
      for (const Completion& completion : std::span(batch).first(count)) {
        handler(*endpoint, completion);
      }
      any = any || count != 0;
      if (count < kBatch) break;
    }
  }
  return any;
}

void EventLoop::wait(Clock::time_point until) {
  std::vector<pollfd> descriptors;
  for (const Endpoint* endpoint : endpoints_) {
    descriptors.push_back({endpoint->completion_fd(), POLLIN, 0});
  }
  if (!interrupts_.interrupted()) descriptors.push_back({interrupts_.fd(), POLLIN, 0});
  const timespec timeout = until_timespec(until);
  // Failure and time-out look alike to the caller: it looks again.
  static_cast<void>(::ppoll(descriptors.data(), descriptors.size(), &timeout, nullptr));
}

void EventLoop::run_once(Clock::time_point until, const Handler& handler) {
  if (drain(handler)) return;
  wait(until);
  drain(handler);
}

}  // namespace longhaul::apps::perf
