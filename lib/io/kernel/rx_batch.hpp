// SPDX-License-Identifier: Apache-2.0
// The memory received messages land in, and how they are handed out datagram by datagram.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/base/datagram.hpp"
#include "lib/io/kernel/control.hpp"
#include "lib/io/kernel/native_address.hpp"

namespace longhaul::io::kernel {

/// Buffers for one `recvmmsg` and what is left of its messages. A message may hold many datagrams.
class RxBatch {
 public:
  /// No message, joined or not, is larger.
  static constexpr std::size_t kBufferSize = 65536;
  /// Not a power of two: buffers that begin 64 KiB apart share a few sets of the cache, and a batch
  /// of single datagrams would throw itself out of it. A jumbo datagram and a line further apart,
  /// no two overlap there.
  static constexpr std::size_t kBufferStride = kBufferSize + 9088;

  /// Allocates everything; nothing afterwards does.
  explicit RxBatch(std::size_t messages_max);

  /// Datagrams are left that `take` has not handed out.
  bool pending() const noexcept { return next_ < received_; }

  /// Headers for a `recvmmsg` that should yield about `datagrams`, judging by how many the last
  /// messages held: reading more than is asked for only drives buffers out of the cache. Memory
  /// handed out before is used again. Only when nothing is pending.
  std::span<mmsghdr> prepare(std::size_t datagrams) noexcept;

  /// The system filled the first `count` of the prepared messages at `now`. Returns how many
  /// messages the socket has lost since the last report.
  std::size_t accept(Timestamp now, std::size_t count) noexcept;

  /// Hands out the next datagrams and returns how many. Valid until the next `prepare`.
  std::size_t take(std::span<base::RxDatagram> out) noexcept;

 private:
  /// A received message that is being split.
  struct Message {
    std::span<std::byte> rest;
    std::size_t segment_size = 0;
    SocketAddress remote;
    base::Ecn ecn = base::Ecn::not_ect;
    std::uint8_t dscp = 0;
  };

  std::size_t lost_since(const RxMarks& marks) noexcept;

  std::unique_ptr<std::byte[]> memory_;
  std::vector<mmsghdr> headers_;
  std::vector<iovec> iovecs_;
  std::vector<NativeAddress> remotes_;
  std::vector<RxControl> controls_;
  std::vector<Message> messages_;
  std::size_t next_ = 0;
  std::size_t received_ = 0;
  std::size_t datagrams_per_message_ = 1;
  std::uint32_t dropped_seen_ = 0;
  Timestamp received_at_{};
};

}  // namespace longhaul::io::kernel
