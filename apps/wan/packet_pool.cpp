// SPDX-License-Identifier: Apache-2.0
#include "apps/wan/packet_pool.hpp"

#include <algorithm>

namespace longhaul::apps::wan {

PacketPool::PacketPool(std::size_t buffer_bytes, std::uint64_t limit_bytes)
    : buffer_bytes_(buffer_bytes),
      slabs_max_(std::max<std::size_t>(1, limit_bytes / (buffer_bytes * kBuffersPerSlab))) {}

std::byte* PacketPool::take() {
  if (free_.empty()) {
    if (slabs_.size() == slabs_max_) return nullptr;
    slabs_.push_back(std::make_unique_for_overwrite<std::byte[]>(kBuffersPerSlab * buffer_bytes_));
    free_.reserve(slabs_.size() * kBuffersPerSlab);
    for (std::size_t i = kBuffersPerSlab; i > 0; --i)
      free_.push_back(slabs_.back().get() + (i - 1) * buffer_bytes_);
  }
  std::byte* buffer = free_.back();
  free_.pop_back();
  return buffer;
}

}  // namespace longhaul::apps::wan
