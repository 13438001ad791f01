// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/io/kernel/descriptor.hpp"
#include "longhaul/result.hpp"
#include "longhaul/time.hpp"

namespace longhaul::io::kernel {

/// Sleep on a descriptor that other threads can end. Waking somebody who is not asleep costs one
/// atomic exchange, no system call; a wake is never lost: it ends the sleep that follows.
class Waker {
 public:
  /// Fails with system when no descriptor is left.
  static Result<Waker> open();

  /// Only before the first use; the object is then shared between threads and stays.
  Waker(Waker&& other) noexcept;
  Waker& operator=(Waker&&) = delete;

  /// What ended a sleep.
  enum class Reason : std::uint8_t { woken, readable, error, elapsed };

  /// Sleeps until `descriptor` is readable or has an error pending, `wake` was called, or `longest`
  /// passed. One thread only. So does `second`, if it is not -1, though its errors wake as input
  /// does.
  Reason sleep(int descriptor, Duration longest, int second = -1) noexcept;

  /// Any thread.
  void wake() noexcept;

 private:
  enum class State : std::uint8_t { awake, asleep, woken };

  explicit Waker(Descriptor event) noexcept : event_(std::move(event)) {}

  Descriptor event_;
  std::atomic<State> state_ = State::awake;
};

}  // namespace longhaul::io::kernel
