// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/uring_buffers.hpp"

#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/io/kernel/control.hpp"
#include "lib/io/kernel/native_address.hpp"
#include "lib/io/kernel/rx_batch.hpp"
#include "lib/io/kernel/uring_ring.hpp"

namespace longhaul::io::kernel {
namespace {

/// What the system writes before the payload: its own header, the source, the control messages.
/// The source's room keeps what follows aligned.
constexpr std::size_t kNameRoom = 32;
static_assert(kNameRoom >= sizeof(NativeAddress) && kNameRoom % alignof(cmsghdr) == 0);
constexpr std::size_t kControlRoom = sizeof(RxControl);
constexpr std::size_t kFrontRoom = sizeof(io_uring_recvmsg_out) + kNameRoom + kControlRoom;
/// Room for the front and for a message; where buffers begin is spread over the cache.
constexpr std::size_t kStride = RxBatch::kBufferStride + 256;
static_assert(kFrontRoom <= 256 && kStride >= kFrontRoom + RxBatch::kBufferSize &&
              kStride % 64 == 0);
/// What the system can number.
constexpr std::size_t kCountMax = 32768;

std::size_t ring_bytes(std::size_t count) noexcept {
  return count * sizeof(io_uring_buf);
}

}  // namespace

Result<std::unique_ptr<UringBuffers>> UringBuffers::open(io_uring& ring, std::size_t count) {
  std::unique_ptr<UringBuffers> buffers(new UringBuffers);
  count = std::bit_ceil(std::clamp<std::size_t>(count, 1, kCountMax));
  void* entries =
      mmap(nullptr, ring_bytes(count), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (entries == MAP_FAILED) return uring_refused("memory for its buffers", errno);
  buffers->entries_ = static_cast<io_uring_buf_ring*>(entries);
  buffers->count_ = count;
  // The system holds these very pages; a child of fork must not take them over.
  madvise(entries, ring_bytes(count), MADV_DONTFORK);

  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uintptr_t>(entries);
  registration.ring_entries = static_cast<unsigned>(count);
  registration.bgid = kGroup;
  const int result = io_uring_register_buf_ring(&ring, &registration, 0);
  if (result < 0) return uring_refused("io_uring_register", -result);
  buffers->ring_ = &ring;
  io_uring_buf_ring_init(buffers->entries_);

  buffers->memory_.reset(new std::byte[count * kStride]);
  buffers->request_.msg_namelen = kNameRoom;
  buffers->request_.msg_controllen = kControlRoom;
  buffers->free_.reserve(count);
  for (std::size_t i = count; i-- > 0;) {
    buffers->free_.push_back(static_cast<unsigned short>(i));
  }
  return buffers;
}

UringBuffers::~UringBuffers() {
  if (entries_ != nullptr) munmap(entries_, ring_bytes(count_));
}

std::byte* UringBuffers::buffer(unsigned short number) noexcept {
  return memory_.get() + number * kStride;
}

void UringBuffers::lend(std::size_t wanted) noexcept {
  const int mask = io_uring_buf_ring_mask(static_cast<unsigned>(count_));
  int added = 0;
  while (lent_ < wanted && !free_.empty()) {
    const unsigned short number = free_.back();
    free_.pop_back();
    io_uring_buf_ring_add(entries_, buffer(number), kStride, number, mask, added++);
    ++lent_;
  }
  if (added > 0) io_uring_buf_ring_advance(entries_, added);
}

void UringBuffers::deliver(unsigned short number, std::size_t length,
                           RxMessages& messages) noexcept {
  std::byte* front = buffer(number);
  io_uring_recvmsg_out* out = io_uring_recvmsg_validate(front, static_cast<int>(length), &request_);
  if (out == nullptr) return;
  NativeAddress remote{};
  std::memcpy(&remote, io_uring_recvmsg_name(out),
              std::min<std::size_t>(out->namelen, sizeof(remote)));
  msghdr header{};
  header.msg_control = front + sizeof(io_uring_recvmsg_out) + kNameRoom;
  header.msg_controllen = std::min<std::size_t>(out->controllen, kControlRoom);
  messages.add({front + kFrontRoom, length - kFrontRoom}, remote, read_control(header));
}

}  // namespace longhaul::io::kernel
