// SPDX-License-Identifier: Apache-2.0
// What the configured line needs, as far as tables follow from it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "lib/recovery/receive_space.hpp"
#include "longhaul/config.hpp"

namespace longhaul::connection {

constexpr std::uint64_t planned_rate(const EndpointConfig& config) noexcept {
  constexpr std::uint64_t kWhereNoneIsSet = 10'000'000'000;
  return config.rate_bps > 0 ? config.rate_bps : kWhereNoneIsSet;
}

/// Rate × round trip: bytes in flight.
constexpr std::uint64_t window_bytes(const EndpointConfig& config) noexcept {
  const auto rtt_us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(config.rtt_max).count());
  return planned_rate(config) / 8000 * rtt_us / 1000;
}

/// Runs of received numbers a space remembers. They lie in the packets of the last three round
/// trips or so, until the sender's floor passes them: a quarter of a window is enough for 9 % of
/// loss at the full window. With more the oldest are forgotten, which were told many times.
constexpr std::size_t runs_max(const EndpointConfig& config) noexcept {
  return recovery::ReceiveSpace::kRunsMin +
         static_cast<std::size_t>(window_bytes(config) / config.mtu_base / 4);
}

}  // namespace longhaul::connection
