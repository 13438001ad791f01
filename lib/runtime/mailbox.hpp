// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/base/mpmc_ring.hpp"
#include "lib/runtime/request.hpp"

namespace longhaul::runtime {

/// Requests on their way from any thread to one worker. Bounded; posting never waits.
///
/// Sleeping without missing a post is a handshake of two flags: the worker raises `sleeping` and
/// then looks for posts; a poster counts its post and then looks at `sleeping`. Whoever is second
/// sees the other.
class Mailbox {
 public:
  /// `capacity` is a power of two.
  explicit Mailbox(std::size_t capacity) : ring_(capacity) {}

  /// Any thread. False if the mailbox is full; `request` is then untouched. `wake` becomes true if
  /// the worker sleeps and has to be woken.
  bool post(Request&& request, bool& wake) noexcept {
    if (!ring_.try_push(std::move(request))) return false;
    wake = nudge();
    return true;
  }
  /// Any thread: something besides a request changed that the worker must look at. Returns true if
  /// the worker sleeps and has to be woken.
  bool nudge() noexcept {
    posted_.fetch_add(1, std::memory_order_seq_cst);
    return sleeping_.load(std::memory_order_seq_cst);
  }

  /// Worker only: the oldest request.
  bool take(Request& request) noexcept { return ring_.try_pop(request); }
  /// Worker only: nothing came since the last `look()`.
  bool quiet() const noexcept { return posted_.load(std::memory_order_seq_cst) == seen_; }
  /// Worker only: what was posted until now is about to be taken.
  void look() noexcept { seen_ = posted_.load(std::memory_order_seq_cst); }
  /// Worker only: about to sleep. False, and no sleep, if something was posted since `look()`.
  bool fall_asleep() noexcept {
    sleeping_.store(true, std::memory_order_seq_cst);
    if (quiet()) return true;
    wake_up();
    return false;
  }
  void wake_up() noexcept { sleeping_.store(false, std::memory_order_relaxed); }

 private:
  base::MpmcRing<Request> ring_;
  std::atomic<std::uint64_t> posted_{0};
  std::atomic<bool> sleeping_{false};
  std::uint64_t seen_ = 0;
};

}  // namespace longhaul::runtime
