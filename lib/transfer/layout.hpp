// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "lib/base/interval_set.hpp"

namespace longhaul::transfer {

/// How a byte range of a tensor is cut into chunks. Never changes once announced.
struct Layout {
  std::uint32_t chunk_size = 1;
  std::uint64_t first = 0;
  std::uint64_t length = 0;

  std::uint64_t end() const noexcept { return first + length; }
  std::uint64_t chunks() const noexcept { return (length + chunk_size - 1) / chunk_size; }
  bool covers(std::uint64_t offset) const noexcept { return offset >= first && offset < end(); }
  /// Precondition: covers(offset).
  std::uint32_t index_of(std::uint64_t offset) const noexcept {
    return static_cast<std::uint32_t>((offset - first) / chunk_size);
  }
  /// Bytes of a chunk; empty for an index beyond the layout.
  base::Interval range(std::uint32_t index) const noexcept {
    const std::uint64_t begin = first + std::uint64_t{index} * chunk_size;
    if (begin >= end()) return {end(), end()};
    return {begin, std::min(begin + chunk_size, end())};
  }
};

}  // namespace longhaul::transfer
