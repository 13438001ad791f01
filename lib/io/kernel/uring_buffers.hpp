// SPDX-License-Identifier: Apache-2.0
// The memory a multishot receive fills, lent to the system buffer by buffer.
#pragma once

#include <liburing.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/io/kernel/rx_messages.hpp"
#include "longhaul/result.hpp"

namespace longhaul::io::kernel {

class UringBuffers {
 public:
  /// The group the ring knows the buffers by.
  static constexpr unsigned short kGroup = 0;

  /// Lends `ring` buffers for `count` messages, rounded up to a power of two. `ring` must be open
  /// until this is gone. Fails as UringRing::open does.
  static Result<std::unique_ptr<UringBuffers>> open(io_uring& ring, std::size_t count);
  ~UringBuffers();
  UringBuffers(const UringBuffers&) = delete;
  UringBuffers& operator=(const UringBuffers&) = delete;

  std::size_t count() const noexcept { return count_; }
  /// What a receive into these buffers asks for: room for source and control messages.
  msghdr& request() noexcept { return request_; }

  /// Lends the system buffers until it has `wanted` of them or all are lent. Those used last come
  /// first, as they are the ones in the cache.
  void lend(std::size_t wanted) noexcept;
  /// The system returned buffer `number` with `length` bytes in it. Adds the message to `messages`,
  /// unless the system could not fit it in. The buffer is in use until `take_back`.
  void deliver(unsigned short number, std::size_t length, RxMessages& messages) noexcept;
  /// The system returned buffer `number` to us.
  void returned() noexcept { --lent_; }
  /// Nobody looks at buffer `number` any more.
  void take_back(unsigned short number) noexcept { free_.push_back(number); }

 private:
  UringBuffers() = default;
  std::byte* buffer(unsigned short number) noexcept;

  io_uring* ring_ = nullptr;
  io_uring_buf_ring* entries_ = nullptr;
  std::size_t count_ = 0;
  std::unique_ptr<std::byte[]> memory_;
  msghdr request_{};
  std::vector<unsigned short> free_;
  std::size_t lent_ = 0;
};

}  // namespace longhaul::io::kernel
