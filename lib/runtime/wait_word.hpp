// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "longhaul/time.hpp"

namespace longhaul::runtime {

/// What application threads sleep on. There is no lock in it, so that a worker that notifies can
/// never be held up by a thread that waits: `notify` is one atomic addition, plus one system call
/// if somebody sleeps.
///
/// Waiting is: `prepare()`, look at the condition, `wait()`. A notification between the two makes
/// `wait` return at once.
class WaitWord {
 public:
  /// To be taken before the condition is looked at.
  std::uint32_t prepare() const noexcept { return sequence_.load(std::memory_order_seq_cst); }
  /// Sleeps until a `notify` after `prepared` was taken, or for `longest` (none = for ever). May
  /// return early.
  void wait(std::uint32_t prepared, std::optional<Duration> longest) noexcept;
  /// Wakes every waiter. The condition must have been made true before.
  void notify() noexcept;

 private:
  std::atomic<std::uint32_t> sequence_{0};
  std::atomic<std::uint32_t> waiters_{0};
};

}  // namespace longhaul::runtime
