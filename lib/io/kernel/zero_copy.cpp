// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/zero_copy.hpp"

#include <algorithm>
#include <cstring>

namespace longhaul::io::kernel {
namespace {

std::size_t pieces_of(std::span<const base::TxDatagram> datagrams) noexcept {
  std::size_t pieces = 0;
  for (const base::TxDatagram& datagram : datagrams) pieces += fragments_of(datagram);
  return pieces;
}

}  // namespace

ZeroCopy::ZeroCopy(std::size_t messages) : slots_(messages), heads_(new Heads[messages]) {
  free_.reserve(messages);
  for (std::size_t i = messages; i-- > 0;) free_.push_back(static_cast<std::uint16_t>(i));
}

std::optional<std::uint16_t> ZeroCopy::hold(msghdr& message,
                                            std::span<const base::TxDatagram> datagrams) noexcept {
  if (datagrams.front().payload.size() < kPayloadMin) return std::nullopt;
  std::size_t bytes = 0;
  for (const base::TxDatagram& datagram : datagrams) {
    if (datagram.payload.empty() || datagram.head_size > kHeadMax) return std::nullopt;
    bytes += datagram.size();
  }
  if (bytes < kMessageBytesMin || pieces_of(datagrams) > kFragmentsMax || free_.empty()) {
    return std::nullopt;
  }
  const std::uint16_t slot = free_.back();
  free_.pop_back();
  std::byte* head = heads_[slot].bytes.data();
  iovec* vector = message.msg_iov;
  for (const base::TxDatagram& datagram : datagrams) {
    if (datagram.head_size > 0) {
      std::memcpy(head, datagram.head.data(), datagram.head_size);
      (vector++)->iov_base = head;
      head += kHeadMax;
    }
    ++vector;  // the payload's
  }
  return slot;
}

void ZeroCopy::use_own_heads(msghdr& message,
                             std::span<const base::TxDatagram> datagrams) noexcept {
  iovec* vector = message.msg_iov;
  for (const base::TxDatagram& datagram : datagrams) {
    if (datagram.head_size > 0) (vector++)->iov_base = datagram.head.data();
    if (!datagram.payload.empty()) ++vector;
  }
}

void ZeroCopy::let_go(std::uint16_t slot, bool copied) noexcept {
  ++completed_;
  if (copied) ++copied_;
  free_.push_back(slot);
}

}  // namespace longhaul::io::kernel
