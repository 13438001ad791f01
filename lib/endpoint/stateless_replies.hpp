// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "lib/base/datagram.hpp"
#include "longhaul/address.hpp"
#include "longhaul/time.hpp"

namespace longhaul::endpoint {

/// Answers that need no connection (version negotiation, retry, refusal, reset). Bounded, and
/// rationed: who floods us must not make us flood others.
class StatelessReplies {
 public:
  static constexpr std::size_t kReplyBytesMax = 256;
  /// False if the ration is used up or the queue is full; the reply is then not sent.
  bool push(Timestamp now, const SocketAddress& to, std::span<const std::byte> bytes);
  bool empty() const noexcept { return queue_.empty(); }
  /// Writes the next reply into the slot.
  void pop_into(Timestamp now, base::TxDatagram& slot, std::uint8_t dscp);

 private:
  static constexpr std::size_t kQueueMax = 1024;
  // Enough for the connections of a large job starting at once; two orders below what a flood could
  // ask for.
  static constexpr std::int64_t kPerSecond = 20000;
  struct Reply {
    SocketAddress to;
    std::size_t size = 0;
    std::array<std::byte, kReplyBytesMax> bytes;
  };
  std::deque<Reply> queue_;
  std::int64_t ration_ = kPerSecond / 10;
  Timestamp refilled_at_{};
};

}  // namespace longhaul::endpoint
