// SPDX-License-Identifier: Apache-2.0
#include "congestion/arithmetic.hpp"

#include <algorithm>

namespace longhaul::congestion {
namespace {

constexpr std::uint64_t kBitNanosPerByte = 8'000'000'000;  // bits a byte has × ns a second has

}  // namespace

std::uint64_t cube_root(Uint128 value) {
  std::uint64_t root = 0;
  // ∛(2^128) < 2^43. Division instead of a third multiplication, which would not fit.
  for (int bit = 42; bit >= 0; --bit) {
    const std::uint64_t candidate = root | (std::uint64_t{1} << bit);
    const Uint128 square = static_cast<Uint128>(candidate) * candidate;
    if (value / square >= candidate) root = candidate;
  }
  return root;
}

Duration elapsed(Timestamp from, Timestamp to) {
  constexpr std::uint64_t kLongest = std::uint64_t{1} << 62;
  if (to <= from) return Duration::zero();
  // Unsigned, because the difference of two extreme timestamps does not fit into a Duration.
  const std::uint64_t difference = static_cast<std::uint64_t>(to.time_since_epoch().count()) -
                                   static_cast<std::uint64_t>(from.time_since_epoch().count());
  return Duration(static_cast<std::int64_t>(std::min(difference, kLongest)));
}

std::uint64_t bytes_in(BitsPerSecond rate, Duration time) {
  if (time <= Duration::zero()) return 0;
  return multiply_divide(rate, static_cast<std::uint64_t>(time.count()), kBitNanosPerByte);
}

BitsPerSecond rate_of(std::uint64_t bytes, Duration time) {
  const Duration believed = std::clamp(time, kRttFloor, kRttCeiling);
  const std::uint64_t rate =
      multiply_divide(bytes, kBitNanosPerByte, static_cast<std::uint64_t>(believed.count()));
  return std::clamp(rate, kRateFloor, kRateCeiling);
}

}  // namespace longhaul::congestion
