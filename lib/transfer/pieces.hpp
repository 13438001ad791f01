// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "lib/base/interval_set.hpp"
#include "lib/wire/constants.hpp"

namespace longhaul::transfer {

/// 64 KiB: small enough to be in cache when its last byte has just been touched.
inline constexpr std::uint8_t kPieceLog2 = 16;
inline constexpr std::uint8_t kPieceLog2Min = 10;
inline constexpr std::uint8_t kPieceLog2Max = 30;

/// Arithmetic of pieces (fixed-size ranges with a digest each) and groups (what one digest packet
/// carries).
struct Pieces {
  std::uint64_t bytes = 0;
  std::uint8_t log2 = kPieceLog2;

  std::uint64_t count() const noexcept { return (bytes + (std::uint64_t{1} << log2) - 1) >> log2; }
  std::uint64_t groups() const noexcept {
    return (count() + wire::kPiecesPerGroup - 1) / wire::kPiecesPerGroup;
  }
  base::Interval range(std::uint64_t piece) const noexcept {
    const std::uint64_t begin = piece << log2;
    return {std::min(begin, bytes), std::min(begin + (std::uint64_t{1} << log2), bytes)};
  }
  std::uint64_t index_of(std::uint64_t offset) const noexcept { return offset >> log2; }
  /// Pieces of a group: first and how many.
  base::Interval group(std::uint64_t group) const noexcept {
    const std::uint64_t begin = group * wire::kPiecesPerGroup;
    return {std::min(begin, count()), std::min(begin + wire::kPiecesPerGroup, count())};
  }
};

}  // namespace longhaul::transfer
