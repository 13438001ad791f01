// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic of the policies: wide inside, saturating at the edges, equal on every
// compiler.
#pragma once

#include <cstdint>

#include "longhaul/congestion.hpp"
#include "longhaul/time.hpp"

namespace longhaul::congestion {

__extension__ using Uint128 = unsigned __int128;

/// Guards against overflow, far beyond any line, so that products of nonsense stay in 128 bits.
inline constexpr std::uint64_t kWindowCeiling = std::uint64_t{1} << 50;  ///< 1 PiB in flight
inline constexpr BitsPerSecond kRateCeiling = 1'000'000'000'000'000;     ///< 1 Pbit/s
inline constexpr BitsPerSecond kRateFloor = 8'000;                       ///< one kB/s
inline constexpr Duration kRttCeiling = std::chrono::minutes(10);        ///< longest RTT believed
inline constexpr Duration kRttFloor = std::chrono::microseconds(1);      ///< shortest RTT believed
inline constexpr std::uint64_t kDatagramFloor = 64;                      ///< UDP payload, bytes
inline constexpr std::uint64_t kDatagramCeiling = 65'535;                ///< UDP payload, bytes

/// `value`, or the largest 64-bit number.
constexpr std::uint64_t saturated(Uint128 value) {
  return value > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(value);
}

/// a + b, or the largest 64-bit number.
constexpr std::uint64_t saturated_sum(std::uint64_t a, std::uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/// ⌊a·b / divisor⌋, saturated; divisor > 0.
constexpr std::uint64_t multiply_divide(std::uint64_t a, std::uint64_t b, std::uint64_t divisor) {
  return saturated(static_cast<Uint128>(a) * b / divisor);
}

/// ⌊∛value⌋.
std::uint64_t cube_root(Uint128 value);

/// Time from `from` to `to`; 0 if `to` is earlier, at most 2^62 ns.
Duration elapsed(Timestamp from, Timestamp to);

/// `time` + `delay`, at most kNever; delay ≥ 0.
constexpr Timestamp later(Timestamp time, Duration delay) {
  return time > kNever - delay ? kNever : time + delay;
}

/// `time` − `delay`, at least Timestamp::min(); delay ≥ 0.
constexpr Timestamp earlier(Timestamp time, Duration delay) {
  return time < Timestamp::min() + delay ? Timestamp::min() : time - delay;
}

/// ⌊bytes that `rate` carries in `time`⌋, saturated; 0 for negative times.
std::uint64_t bytes_in(BitsPerSecond rate, Duration time);

/// Rate that carries `bytes` in `time`, within [kRateFloor, kRateCeiling]. `time` is first brought
/// into [kRttFloor, kRttCeiling].
BitsPerSecond rate_of(std::uint64_t bytes, Duration time);

/// A datagram size an arithmetic can work with.
constexpr std::uint64_t sane_datagram(std::uint64_t bytes) {
  if (bytes < kDatagramFloor) return kDatagramFloor;
  return bytes > kDatagramCeiling ? kDatagramCeiling : bytes;
}

/// Smallest congestion window (RFC 9002 §7.2).
constexpr std::uint64_t minimum_window(std::uint64_t max_datagram) {
  return 2 * max_datagram;
}

/// Initial congestion window (RFC 9002 §7.2).
constexpr std::uint64_t initial_window(std::uint64_t max_datagram) {
  constexpr std::uint64_t kInitialBytes = 14'720;
  const std::uint64_t two = 2 * max_datagram;
  const std::uint64_t limit = two > kInitialBytes ? two : kInitialBytes;
  return 10 * max_datagram < limit ? 10 * max_datagram : limit;
}

/// `window` no larger than `window_max` (0 = unlimited) and never below the minimum window.
constexpr std::uint64_t bounded_window(std::uint64_t window, std::uint64_t window_max,
                                       std::uint64_t max_datagram) {
  if (window_max != 0 && window > window_max) window = window_max;
  if (window > kWindowCeiling) window = kWindowCeiling;
  const std::uint64_t floor = minimum_window(max_datagram);
  return window < floor ? floor : window;
}

}  // namespace longhaul::congestion
