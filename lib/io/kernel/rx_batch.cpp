// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/rx_batch.hpp"

#include <algorithm>

namespace longhaul::io::kernel {

RxBatch::RxBatch(std::size_t messages_max)
    : memory_(new std::byte[messages_max * kBufferStride]),
      headers_(messages_max),
      iovecs_(messages_max),
      remotes_(messages_max),
      controls_(messages_max),
      messages_(messages_max) {
  for (std::size_t i = 0; i < messages_max; ++i) {
    iovecs_[i] = {memory_.get() + i * kBufferStride, kBufferSize};
  }
}

std::span<mmsghdr> RxBatch::prepare(std::size_t datagrams) noexcept {
  next_ = 0;
  received_ = 0;
  const std::size_t wanted = (datagrams + datagrams_per_message_ - 1) / datagrams_per_message_;
  const std::size_t count = std::clamp<std::size_t>(wanted, 1, headers_.size());
  for (std::size_t i = 0; i < count; ++i) {
    msghdr& header = headers_[i].msg_hdr;
    header = {};
    header.msg_name = &remotes_[i];
    header.msg_namelen = sizeof(NativeAddress);
    header.msg_iov = &iovecs_[i];
    header.msg_iovlen = 1;
    header.msg_control = controls_[i].bytes.data();
    header.msg_controllen = controls_[i].bytes.size();
  }
  return {headers_.data(), count};
}

std::size_t RxBatch::accept(Timestamp now, std::size_t count) noexcept {
  std::size_t lost = 0;
  std::size_t datagrams = 0;
  received_at_ = now;
  received_ = count;
  for (std::size_t i = 0; i < count; ++i) {
    const RxMarks marks = read_control(headers_[i].msg_hdr);
    const std::size_t length = headers_[i].msg_len;
    const std::size_t segment = marks.segment_size == 0 ? length : marks.segment_size;
    messages_[i] = {
        .rest = {memory_.get() + i * kBufferStride, length},
        .segment_size = segment,
        .remote = from_native(remotes_[i]),
        .ecn = marks.ecn,
        .dscp = marks.dscp,
    };
    datagrams += length == 0 ? 1 : (length + segment - 1) / segment;
    lost += lost_since(marks);
  }
  if (count != 0) datagrams_per_message_ = datagrams / count;
  return lost;
}

std::size_t RxBatch::take(std::span<base::RxDatagram> out) noexcept {
  std::size_t taken = 0;
  while (taken < out.size() && next_ < received_) {
    Message& message = messages_[next_];
    const std::size_t size = std::min(message.segment_size, message.rest.size());
    out[taken++] = {
        .data = message.rest.first(size),
        .reference = {},
        .remote = message.remote,
        .received_at = received_at_,
        .ecn = message.ecn,
        .dscp = message.dscp,
        .damaged = false,
    };
    message.rest = message.rest.subspan(size);
    if (message.rest.empty()) ++next_;
  }
  return taken;
}

std::size_t RxBatch::lost_since(const RxMarks& marks) noexcept {
  if (!marks.dropped) return 0;
  const std::uint32_t lost = *marks.dropped - dropped_seen_;
  dropped_seen_ = *marks.dropped;
  return lost;
}

}  // namespace longhaul::io::kernel
