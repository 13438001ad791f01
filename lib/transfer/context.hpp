// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>

#include "lib/base/datagram.hpp"
#include "lib/recovery/reliable_frames.hpp"
#include "lib/transfer/messages.hpp"
#include "lib/wire/frame.hpp"

namespace longhaul::transfer {

/// Limits of one connection's transfers; ours and the peer's.
struct TransferLimits {
  std::uint32_t transfers_max = 32768;
  std::uint64_t eager_budget = 0;
  std::uint32_t eager_max = 0;
  base::PayloadMode payload_mode = base::PayloadMode::bytes;
};

/// What sending and receiving transfers share with the connection they belong to. Borrowed.
struct TransferContext {
  ConnectionId connection = 0;
  recovery::ReliableFrames& control;
  std::deque<Event>& events;
  /// The peer makes us answer and confirms none of it: whatever the application itself has to say
  /// at a time is less.
  bool unconfirmed_overflow(const TransferLimits& own) const noexcept {
    constexpr std::size_t kAnswersMax = 65536;
    constexpr std::size_t kFramesOfTransfer = 8;
    return control.pending() > kAnswersMax + kFramesOfTransfer * own.transfers_max;
  }
};

/// (tag, n): the identity of a transfer in one direction, for ever.
struct TransferKey {
  Tag tag = 0;
  std::uint64_t n = 0;
  friend bool operator==(const TransferKey&, const TransferKey&) = default;
};

struct TransferKeyHash {
  std::size_t operator()(const TransferKey& key) const noexcept {
    std::uint64_t z = key.tag * 0x9e3779b97f4a7c15ULL + key.n;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    return static_cast<std::size_t>(z ^ (z >> 31));
  }
};

}  // namespace longhaul::transfer
