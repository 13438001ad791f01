// SPDX-License-Identifier: Apache-2.0
#include "lib/io/buffer_pool.hpp"

#include <algorithm>

#include "lib/base/assert.hpp"

namespace longhaul::io {

namespace {
constexpr std::size_t kSlabBytes = 262'144;
}  // namespace

BufferPool::Buffer BufferPool::take(std::size_t bytes) {
  LONGHAUL_ASSERT(bytes <= kBytesMax);
  std::uint8_t size_class = 0;
  while (size_class + 1u < kClassBytes.size() && kClassBytes[size_class] < bytes) ++size_class;
  if (free_[size_class].empty()) grow(size_class);
  std::byte* data = free_[size_class].back();
  free_[size_class].pop_back();
  return {data, size_class};
}

void BufferPool::grow(std::uint8_t size_class) {
  const std::size_t bytes = kClassBytes[size_class];
  const std::size_t count = std::max<std::size_t>(1, kSlabBytes / bytes);
  // Not value-initialised: a buffer is written before it is read, and pages nobody uses stay
  // unmapped.
  slabs_.emplace_back(new std::byte[count * bytes]);
  for (std::size_t i = count; i > 0; --i) {
    free_[size_class].push_back(slabs_.back().get() + (i - 1) * bytes);
  }
}

}  // namespace longhaul::io
