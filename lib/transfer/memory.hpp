// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/transfer/messages.hpp"

namespace longhaul::transfer {

/// Where the bytes of a transfer lie: one tensor, or a list seen as its concatenation.
template <typename Byte>
class Segments {
 public:
  Segments() = default;
  void add(std::span<Byte> bytes) {
    if (bytes.empty()) return;
    parts_.push_back({size_, bytes});
    size_ += bytes.size();
  }

  std::uint64_t size() const noexcept { return size_; }
  /// Memory of [offset, offset + length) if one segment holds it all, else empty.
  std::span<Byte> contiguous(std::uint64_t offset, std::uint64_t length) const noexcept {
    if (length == 0) return {};
    const Part& part = at(offset);
    const std::uint64_t within = offset - part.begin;
    if (within + length > part.bytes.size()) return {};
    return part.bytes.subspan(within, length);
  }
  /// Calls visit(span) over [offset, offset + length) in order.
  template <typename Visitor>
  void visit(std::uint64_t offset, std::uint64_t length, Visitor&& visitor) const {
    for (std::size_t i = index(offset); length > 0; ++i) {
      const std::uint64_t within = offset - parts_[i].begin;
      const std::uint64_t step = std::min<std::uint64_t>(length, parts_[i].bytes.size() - within);
      visitor(parts_[i].bytes.subspan(within, step));
      offset += step;
      length -= step;
    }
  }

 private:
  struct Part {
    std::uint64_t begin = 0;
    std::span<Byte> bytes;
  };
  std::size_t index(std::uint64_t offset) const noexcept {
    if (parts_.size() == 1) return 0;
    std::size_t low = 0;
    std::size_t high = parts_.size();
    while (high - low > 1) {
      const std::size_t middle = (low + high) / 2;
      (parts_[middle].begin <= offset ? low : high) = middle;
    }
    return low;
  }
  const Part& at(std::uint64_t offset) const noexcept { return parts_[index(offset)]; }

  std::vector<Part> parts_;
  std::uint64_t size_ = 0;
};

using SourceMemory = Segments<const std::byte>;
using DestinationMemory = Segments<std::byte>;

void copy_out(const SourceMemory& from, std::uint64_t offset, std::span<std::byte> to);
void copy_in(std::span<const std::byte> from, const DestinationMemory& to, std::uint64_t offset);

/// XXH3-64 of a range, whatever segments it spans.
std::uint64_t digest(const SourceMemory& memory, std::uint64_t offset, std::uint64_t length);
std::uint64_t digest(const DestinationMemory& memory, std::uint64_t offset, std::uint64_t length);

}  // namespace longhaul::transfer
