// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/rx_batch.hpp"

#include <algorithm>

namespace longhaul::io::kernel {

RxBatch::RxBatch(std::size_t messages_max)
    : memory_(new std::byte[messages_max * kBufferStride]),
      headers_(messages_max),
      iovecs_(messages_max),
      remotes_(messages_max),
      controls_(messages_max) {
  for (std::size_t i = 0; i < messages_max; ++i) {
    iovecs_[i] = {memory_.get() + i * kBufferStride, kBufferSize};
  }
}

std::span<mmsghdr> RxBatch::prepare(std::size_t wanted) noexcept {
  const std::size_t count = std::min(wanted, headers_.size());
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

void RxBatch::accept(std::size_t count, RxMessages& messages) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    messages.add({memory_.get() + i * kBufferStride, headers_[i].msg_len}, remotes_[i],
                 read_control(headers_[i].msg_hdr));
  }
}

}  // namespace longhaul::io::kernel
