// SPDX-License-Identifier: Apache-2.0
// Both ends of the transfers of a connection without the connection: control frames and chunks lie
// in the open, and the test says in which order, how often and whether they arrive.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "lib/recovery/reliable_frames.hpp"
#include "lib/transfer/receivers.hpp"
#include "lib/transfer/senders.hpp"
#include "tests/unit/transfer/requests.hpp"

namespace longhaul::transfer {

/// The bytes of one control frame.
using FrameBytes = std::vector<std::byte>;

/// A chunk or digest packet under way, with what its sender needs to know if it is lost.
struct DataPacket {
  OutgoingChunk chunk;
  std::vector<std::byte> bytes;
};

class Side {
 public:
  explicit Side(const TransferLimits& own)
      : senders({1, control_, events}, own), receivers({1, control_, events}, own) {}

  /// Control frames queued since the last call, oldest first; taken as delivered for good.
  std::vector<FrameBytes> take_frames(Timestamp now);
  /// The peer's frame arrives. False: it broke the protocol.
  bool handle(Timestamp now, const FrameBytes& frame);
  /// Next packet of any class; false if there is nothing (control frames may be new).
  bool next(Timestamp now, std::uint32_t payload_max, DataPacket& packet);
  Receivers::Fate handle(Timestamp now, const DataPacket& packet);
  void lose(const DataPacket& packet);

  /// Status of an ended transfer, pending if it has not ended; a second end is a failure.
  Status status(TransferId id);
  const TransferEvent& ending(TransferId id);
  std::size_t endings();

 private:
  void collect();
  recovery::ReliableFrames control_;
  std::map<TransferId, TransferEvent> endings_;
  std::vector<wire::Gap> gaps_;

 public:
  std::deque<Event> events;
  Senders senders;
  Receivers receivers;
};

/// Two sides, `a` sending and `b` receiving unless a test says otherwise.
struct Pair {
  explicit Pair(const TransferLimits& a_limits = {}, const TransferLimits& b_limits = {})
      : a(a_limits), b(b_limits) {
    a.senders.set_peer_limits(b_limits);
    b.senders.set_peer_limits(a_limits);
  }
  /// Delivers everything, in order, until nothing is under way.
  void settle();
  /// All waiting frames of `from` to `to`, in order.
  void frames(Side& from, Side& to);

  Timestamp now = Timestamp{} + std::chrono::seconds(1);
  std::uint32_t payload_max = 1200;
  Side a;
  Side b;
};

}  // namespace longhaul::transfer
