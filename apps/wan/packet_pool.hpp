// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace longhaul::apps::wan {

/// Buffers of one size for packets under way. Grows with what is on the line, up to a bound, and
/// never shrinks; the buffer given back last is taken first.
class PacketPool {
 public:
  PacketPool(std::size_t buffer_bytes, std::uint64_t limit_bytes);

  /// Nothing once the bound is reached.
  std::byte* take();
  void give(std::byte* buffer) noexcept { free_.push_back(buffer); }

  std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }
  /// Most memory that was ever in use.
  std::uint64_t bytes() const noexcept { return slabs_.size() * kBuffersPerSlab * buffer_bytes_; }

 private:
  static constexpr std::size_t kBuffersPerSlab = 64;

  std::size_t buffer_bytes_;
  std::size_t slabs_max_;
  std::vector<std::unique_ptr<std::byte[]>> slabs_;
  std::vector<std::byte*> free_;  // has room for all, so that `give` never allocates
};

}  // namespace longhaul::apps::wan
