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
  /// Each has a ration of its own: whoever makes us say one must not keep us from saying another.
  enum class Kind : std::uint8_t { retry, reset, other };
  /// Ask before making a reply, which costs: false if the ration is used up or the queue is full.
  bool may_push(Timestamp now, Kind kind);
  /// False if it is not sent.
  bool push(Timestamp now, Kind kind, const SocketAddress& to, std::span<const std::byte> bytes);
  bool empty() const noexcept { return queue_.empty(); }
  /// Writes the next reply into the slot.
  void pop_into(Timestamp now, base::TxDatagram& slot, std::uint8_t dscp);

 private:
  static constexpr std::size_t kKinds = 3;
  static constexpr std::size_t kQueueMax = 1024;
  // Retries: enough for the connections of a large job starting at once; two orders below what a
  // flood could ask for.
  static constexpr std::array<std::int64_t, kKinds> kPerSecond{20000, 5000, 5000};
  struct Reply {
    SocketAddress to;
    std::size_t size = 0;
    std::array<std::byte, kReplyBytesMax> bytes;
  };
  std::deque<Reply> queue_;
  struct Ration {
    std::int64_t left;
    Timestamp refilled_at;
  };
  std::array<Ration, kKinds> rations_{
      {{kPerSecond[0] / 10, {}}, {kPerSecond[1] / 10, {}}, {kPerSecond[2] / 10, {}}}};
};

}  // namespace longhaul::endpoint
