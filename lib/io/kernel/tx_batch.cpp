// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/tx_batch.hpp"

#include <algorithm>

namespace longhaul::io::kernel {
namespace {

bool same_marks(const base::TxDatagram& one, const base::TxDatagram& other) noexcept {
  return one.dscp == other.dscp && one.ecn == other.ecn && one.remote == other.remote;
}

/// Smallest page there is: on larger ones this counts too many pieces, which is safe.
constexpr std::uintptr_t kPageSize = 4096;

std::size_t pages_touched(std::span<const std::byte> bytes) noexcept {
  if (bytes.empty()) return 0;
  const auto first = reinterpret_cast<std::uintptr_t>(bytes.data());
  return (first + bytes.size() - 1) / kPageSize - first / kPageSize + 1;
}

/// Length of the prefix of `burst` the system can cut out of one message.
std::size_t group_length(std::span<const base::TxDatagram> burst,
                         const TrainLimits& limits) noexcept {
  const base::TxDatagram& first = burst.front();
  const std::size_t segment = first.size();
  // Nothing can be cut into empty datagrams.
  if (segment == 0) return 1;

  const std::size_t most = std::min(burst.size(), kSegmentsMax);
  // Looking at pages costs something, and only sending without a copy has to.
  const bool count_fragments = first.payload.size() >= limits.uncopied_payload_min;
  std::size_t fragments = count_fragments ? fragments_of(first) : 0;
  std::size_t total = segment;
  std::size_t length = 1;
  while (length < most) {
    const base::TxDatagram& next = burst[length];
    const std::size_t size = next.size();
    if (size == 0 || size > segment || total + size > kMessageBytesMax) break;
    if (!same_marks(first, next)) break;
    if (count_fragments) fragments += fragments_of(next);
    if (count_fragments && fragments > limits.fragments_max) break;
    total += size;
    ++length;
    if (size < segment) break;
  }
  return length;
}

}  // namespace

std::size_t fragments_of(const base::TxDatagram& datagram) noexcept {
  return (datagram.head_size > 0 ? 1 : 0) + pages_touched(datagram.payload);
}

std::size_t TxBatch::fill(std::span<const base::TxDatagram> burst,
                          const TrainLimits& limits) noexcept {
  messages_ = 0;
  vectors_ = 0;
  burst = burst.first(std::min(burst.size(), kDatagramsMax));
  std::size_t filled = 0;
  while (filled < burst.size() && messages_ < kMessagesMax) {
    const auto rest = burst.subspan(filled);
    const std::size_t length = limits.segmentation ? group_length(rest, limits) : 1;
    add_message(rest.first(length));
    filled += length;
  }
  return filled;
}

void TxBatch::add_message(std::span<const base::TxDatagram> group) noexcept {
  const base::TxDatagram& first = group.front();
  mmsghdr& message = headers_[messages_];
  message = {};
  msghdr& header = message.msg_hdr;
  header.msg_name = &remotes_[messages_];
  header.msg_namelen = to_native(first.remote, remotes_[messages_]);
  header.msg_iov = &iovecs_[vectors_];

  const std::size_t vectors_before = vectors_;
  for (const base::TxDatagram& datagram : group) gather(datagram);
  header.msg_iovlen = vectors_ - vectors_before;

  const TxMarks marks{
      .family = first.remote.family,
      .ecn = first.ecn,
      .dscp = first.dscp,
      .segment_size =
          group.size() > 1 ? static_cast<std::uint16_t>(first.size()) : std::uint16_t{0},
  };
  write_control(marks, controls_[messages_], header);
  counts_[messages_] = group.size();
  ++messages_;
}

void TxBatch::gather(const base::TxDatagram& datagram) noexcept {
  if (datagram.head_size != 0) {
    iovecs_[vectors_++] = {datagram.head.data(), datagram.head_size};
  }
  if (!datagram.payload.empty()) {
    // iovec is shared with reading and so knows no const; sending only reads.
    iovecs_[vectors_++] = {const_cast<std::byte*>(datagram.payload.data()),
                           datagram.payload.size()};
  }
}

}  // namespace longhaul::io::kernel
