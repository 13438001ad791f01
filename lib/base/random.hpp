// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace longhaul::base {

/// Seeded generator (SplitMix64, Steele et al. 2014): passed in, never global, equal on every
/// compiler. Not for keys.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) noexcept : state_(seed) {}

  constexpr std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, bound); bound > 0. (Multiply-shift; the bias is below 2^-32 for bounds below
  /// 2^32.)
  constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }
  /// True with probability p; integer comparison, so that compilers agree.
  constexpr bool chance(double p) noexcept {
    if (p <= 0) return false;
    if (p >= 1) return true;
    return (next() >> 11) < static_cast<std::uint64_t>(p * 9007199254740992.0);
  }

 private:
  __extension__ typedef unsigned __int128 Wide;  // not ISO C++, in both compilers

  std::uint64_t state_;
};

}  // namespace longhaul::base
