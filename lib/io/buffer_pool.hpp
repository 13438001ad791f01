// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace longhaul::io {

/// Memory for datagrams that a backend has to keep, in a few size classes with free lists. Grows on
/// demand and gives nothing back before its end, so steady traffic allocates nothing.
class BufferPool {
 public:
  struct Buffer {
    std::byte* data = nullptr;
    std::uint8_t size_class = 0;
  };

  /// Largest UDP payload.
  static constexpr std::size_t kBytesMax = 65536;

  /// A buffer of at least `bytes`, which is at most kBytesMax.
  Buffer take(std::size_t bytes);
  void give_back(Buffer buffer) { free_[buffer.size_class].push_back(buffer.data); }

 private:
  static constexpr std::array<std::size_t, 4> kClassBytes{256, 1536, 9216, kBytesMax};

  void grow(std::uint8_t size_class);

  std::array<std::vector<std::byte*>, kClassBytes.size()> free_;
  std::vector<std::unique_ptr<std::byte[]>> slabs_;
};

}  // namespace longhaul::io
