// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace longhaul::runtime {

/// What bounds a burst.
struct BurstBounds {
  std::size_t datagrams_max = 1;  ///< what the backend takes, at least 1
  std::size_t bytes_max = 0;      ///< what stays in a core's second-level cache
  /// Bytes and datagrams of one message of the system, which costs the same however full; 0: each
  /// datagram is a message.
  std::size_t train_bytes = 0;
  std::size_t train_datagrams = 1;
};

/// How many datagrams make a burst. Bytes have to stay in the cache, and of what size datagrams
/// are on this path is known only from those that passed: the interface's limit may be six times
/// the path's. Whole trains, because a train of one datagram costs as much as a full one.
class BurstLimit {
 public:
  /// `datagram_bytes`: what to expect before the first burst.
  BurstLimit(const BurstBounds& bounds, std::size_t datagram_bytes) noexcept;

  std::size_t datagrams() const noexcept { return datagrams_; }
  /// A burst passed, its largest datagram had `largest` bytes. Larger ones count at once, smaller
  /// ones little by little: a few bursts of nothing but acknowledgements say little of the next.
  void on_burst(std::size_t largest) noexcept;

 private:
  std::size_t limit_for(std::size_t datagram_bytes) const noexcept;

  BurstBounds bounds_;
  std::size_t expected_;
  std::size_t datagrams_;
};

}  // namespace longhaul::runtime
