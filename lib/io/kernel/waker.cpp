// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/waker.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>

namespace longhaul::io::kernel {

Result<Waker> Waker::open() {
  Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) {
    return fail(ErrorCode::system, "no file descriptor left for an eventfd; raise `ulimit -n`",
                errno);
  }
  return Waker(std::move(event));
}

Waker::Waker(Waker&& other) noexcept : event_(std::move(other.event_)) {}

Waker::Reason Waker::sleep(int descriptor, Duration longest, int second) noexcept {
  auto expected = State::awake;
  if (longest <= Duration::zero() || !state_.compare_exchange_strong(expected, State::asleep)) {
    const State before = state_.exchange(State::awake);
    return before == State::woken ? Reason::woken : Reason::elapsed;
  }

  std::array<pollfd, 3> watched{pollfd{descriptor, POLLIN, 0}, pollfd{event_.number(), POLLIN, 0},
                                pollfd{second, POLLIN, 0}};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
  const timespec limit{.tv_sec = seconds.count(), .tv_nsec = (longest - seconds).count()};
  const int ready = ppoll(watched.data(), watched.size(), &limit, nullptr);

  const State before = state_.exchange(State::awake);
  if (ready > 0 && watched[1].revents != 0) {
    std::uint64_t count = 0;
    // Nothing to do about a failure: at worst the next sleep ends early.
    [[maybe_unused]] const auto size = read(event_.number(), &count, sizeof(count));
  }
  if (ready > 0 && (watched[0].revents & POLLERR) != 0) return Reason::error;
  if (before == State::woken) return Reason::woken;
  const bool readable = watched[0].revents != 0 || watched[2].revents != 0;
  return ready > 0 && readable ? Reason::readable : Reason::elapsed;
}

void Waker::wake() noexcept {
  if (state_.exchange(State::woken) != State::asleep) return;
  const std::uint64_t one = 1;
  // It can only fail when the counter is full, and then the sleeper is being woken anyway.
  [[maybe_unused]] const auto size = write(event_.number(), &one, sizeof(one));
}

}  // namespace longhaul::io::kernel
