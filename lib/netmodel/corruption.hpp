// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace longhaul::netmodel {

/// Which bits of a datagram flip: all different, or two flips could undo each other.
struct BitFlips {
  std::array<std::uint64_t, 8> bits{};  ///< positions from the front of the datagram
  std::size_t count = 0;                ///< 1…8, 0 for an empty datagram
};

/// A pure function of `Outcome::corruption` and the size of the datagram, so that it does not
/// matter who holds which of the bytes.
BitFlips bit_flips(std::uint64_t corruption, std::size_t datagram_bytes) noexcept;

/// Flips those bits that fall into `front`, the first bytes of a datagram of that size.
void damage(std::span<std::byte> front, std::size_t datagram_bytes,
            std::uint64_t corruption) noexcept;

}  // namespace longhaul::netmodel
