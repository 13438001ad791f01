// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/mpmc_ring.hpp"
#include "longhaul/result.hpp"
#include "longhaul/transfer.hpp"

namespace longhaul::api {

/// Completions on their way from the worker to whoever polls, with a descriptor that is readable
/// while some wait. Bounded: a full queue is the worker's back-pressure. An application that only
/// uses handles (`wait`, `status`) never polls and must not be stopped by that: until the first
/// `take` or `use_descriptor` a full queue forgets its oldest completion.
class CompletionQueue {
 public:
  /// `capacity` is a power of two.
  explicit CompletionQueue(std::size_t capacity) : ring_(capacity) {}
  ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  /// Makes the descriptor.
  Result<void> open_descriptor();
  /// Takes the descriptor away. The worker has stopped and no `take` runs.
  void close_descriptor() noexcept;
  /// Leaves the descriptor alone for ever: for a forked child.
  void forget_descriptor() noexcept { descriptor_.store(-1, std::memory_order_relaxed); }
  /// The descriptor, kept readable from now on while completions wait; -1 if there is none.
  int use_descriptor() noexcept;

  /// Worker only. False if the queue is full; the next `take` then says that there is room.
  bool push(const Completion& completion) noexcept;
  /// Worker only, while the endpoint closes: like `push`, but keeps what does not fit aside.
  void push_last(const Completion& completion);
  /// From now on `take` also gives out what `push_last` kept. Nothing may be pushed any more.
  void finish() noexcept { finished_.store(true, std::memory_order_release); }

  /// Any thread. Fills the front of `out`, returns how many; `was_full` says that the worker waits
  /// for the room made. Without `descriptor_held` the descriptor may be closing and is not touched.
  std::size_t take(std::span<Completion> out, bool descriptor_held, bool& was_full) noexcept;

 private:
  void count_up() noexcept;
  void signal() noexcept;
  void quieten() noexcept;

  base::MpmcRing<Completion> ring_;
  std::atomic<std::int64_t> waiting_{0};  // briefly off by the threads just pushing or popping
  std::atomic<bool> in_use_{false};
  std::atomic<bool> full_{false};
  std::atomic<bool> signalling_{false};  // the descriptor is wanted
  std::atomic<bool> signalled_{false};
  std::atomic<int> descriptor_{-1};
  std::atomic<bool> finished_{false};
  std::vector<Completion> leftovers_;
  std::atomic<std::size_t> leftovers_taken_{0};
};

}  // namespace longhaul::api
