// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace longhaul::apps {

/// An endless stream of pseudo-random bytes of which any part can be made without the part before
/// it: 64-bit word i is SplitMix64's i-th output (Steele et al. 2014). Both ends of a test know the
/// seed, so a receiver can check any range without having been sent it twice.
class Pattern {
 public:
  explicit constexpr Pattern(std::uint64_t seed) noexcept : seed_(seed) {}

  /// Writes bytes [offset, offset + out.size()) of the stream; each word is ANDed with `mask`.
  void fill(std::uint64_t offset, std::span<std::byte> out,
            std::uint64_t mask = ~std::uint64_t{0}) const noexcept;
  constexpr std::uint64_t word(std::uint64_t index) const noexcept {
    std::uint64_t z = seed_ + (index + 1) * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t seed_;
};

}  // namespace longhaul::apps
