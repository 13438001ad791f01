// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "lib/base/fifo.hpp"
#include "longhaul/time.hpp"

namespace longhaul::endpoint {

/// Attempts to connect whose connection is over. While their tokens are valid a late copy of an
/// initial would make a second connection that nobody is behind.
class EndedAttempts {
 public:
  void add(Timestamp now, std::uint64_t attempt) {
    if (!known_.insert(attempt).second) return;
    if (order_.size() == kAttemptsMax) forget_oldest();
    order_.push_back({attempt, now + kKept});
  }

  bool contains(Timestamp now, std::uint64_t attempt) {
    while (!order_.empty() && order_.front().until <= now) forget_oldest();
    return known_.contains(attempt);
  }

 private:
  // As long as a token.
  static constexpr Duration kKept = std::chrono::seconds(30);
  static constexpr std::size_t kAttemptsMax = 4096;
  struct Ended {
    std::uint64_t attempt = 0;
    Timestamp until{};
  };
  void forget_oldest() {
    known_.erase(order_.front().attempt);
    order_.pop_front();
  }

  base::Fifo<Ended> order_;
  std::unordered_set<std::uint64_t> known_;
};

}  // namespace longhaul::endpoint
