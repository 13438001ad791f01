// SPDX-License-Identifier: Apache-2.0
// Where one `recvmmsg` puts what it reads.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "lib/io/kernel/control.hpp"
#include "lib/io/kernel/native_address.hpp"
#include "lib/io/kernel/rx_messages.hpp"

namespace longhaul::io::kernel {

/// Buffers and headers for one `recvmmsg`.
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

  /// Headers for a `recvmmsg` of `wanted` messages, or as many as there are buffers. What was read
  /// before is overwritten.
  std::span<mmsghdr> prepare(std::size_t wanted) noexcept;

  /// The system filled the first `count` of the prepared messages: adds them to `messages`, which
  /// point into this batch.
  void accept(std::size_t count, RxMessages& messages) noexcept;

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::vector<mmsghdr> headers_;
  std::vector<iovec> iovecs_;
  std::vector<NativeAddress> remotes_;
  std::vector<RxControl> controls_;
};

}  // namespace longhaul::io::kernel
