// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "longhaul/time.hpp"

namespace longhaul::sim {

/// Order-sensitive 64-bit hash over what happened. Not cryptographic; equal on every machine.
class TraceHash {
 public:
  explicit constexpr TraceHash(std::uint64_t seed) noexcept : state_(seed) {}

  constexpr void absorb(std::uint64_t value) noexcept {
    state_ = (state_ ^ value) * 0x9fb21c651e98df25ULL;
    state_ ^= state_ >> 29;
  }
  constexpr void absorb(Timestamp time) noexcept {
    absorb(static_cast<std::uint64_t>(time.time_since_epoch().count()));
  }
  constexpr std::uint64_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_;
};

}  // namespace longhaul::sim
