// SPDX-License-Identifier: Apache-2.0
// Received messages on their way to the caller, handed out datagram by datagram.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/datagram.hpp"
#include "lib/io/kernel/control.hpp"
#include "lib/io/kernel/native_address.hpp"
#include "longhaul/time.hpp"

namespace longhaul::io::kernel {

/// The messages of one read and how far they have been handed out. A message may hold many
/// datagrams; its memory is the engine's.
class RxMessages {
 public:
  /// Room for `most` messages; nothing is allocated afterwards.
  explicit RxMessages(std::size_t most);

  /// Datagrams are left that `take` has not handed out.
  bool pending() const noexcept { return next_ < messages_.size(); }

  /// Forgets what was handed out and begins with what is read at `now`. Only when nothing is
  /// pending.
  /// `source`: which of the sockets that are read in turn, 0 or 1.
  void restart(Timestamp now, std::size_t source = 0) noexcept;
  /// One message the system delivered; no more than there is room for.
  void add(std::span<std::byte> bytes, const NativeAddress& remote, const RxMarks& marks) noexcept;

  /// Hands out the next datagrams and returns how many.
  std::size_t take(std::span<base::RxDatagram> out) noexcept;

  /// `visit(remote)` for every message of the last read.
  template <typename Visit>
  void for_each_remote(Visit visit) const {
    for (const Message& message : messages_) visit(message.remote);
  }

  /// How many messages are likely to fill room for `datagrams`, judging by how many the last ones
  /// held: reading more only drives buffers out of the cache. At least 1.
  std::size_t messages_for(std::size_t datagrams) const noexcept;
  /// Forgets what a source that is closed has counted.
  void forget(std::size_t source) noexcept { dropped_seen_[source] = 0; }
  /// How many messages the sockets have lost since this was last asked.
  std::size_t take_lost() noexcept;

 private:
  struct Message {
    std::span<std::byte> rest;
    std::size_t segment_size = 0;
    SocketAddress remote;
    base::Ecn ecn = base::Ecn::not_ect;
    std::uint8_t dscp = 0;
  };

  std::vector<Message> messages_;
  std::size_t next_ = 0;
  std::size_t datagrams_ = 0;  // of all messages
  std::size_t datagrams_per_message_ = 1;
  std::array<std::uint32_t, 2> dropped_seen_{};  // by source
  std::size_t source_ = 0;
  std::size_t lost_ = 0;
  Timestamp received_at_{};
};

}  // namespace longhaul::io::kernel
