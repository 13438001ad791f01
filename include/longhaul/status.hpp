// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "longhaul/export.hpp"

namespace longhaul {

/// How a request stands. Exactly one terminal status ends each request.
/// Sender `completed` implies receiver `completed`.
enum class Status : std::uint8_t {
  pending = 0,            ///< not terminal
  completed = 1,          ///< every byte verified at the receiver
  completed_partial = 2,  ///< bounded-loss or best-effort: see the map of byte ranges
  timed_out = 3,          ///< a deadline passed, here or at the peer
  cancelled = 4,          ///< cancelled here or at the peer
  peer_lost = 5,          ///< nothing heard for `peer_timeout`, or the peer was reset
  corrupt = 6,            ///< a piece failed its digest three times
  refused = 7,            ///< dtype, shape or size differ, or a budget said no; both ends learn it
  closed = 8,             ///< connection or endpoint was closed
  internal = 9,           ///< a broken invariant poisoned the connection
};

constexpr bool is_terminal(Status status) noexcept {
  return status != Status::pending;
}
LONGHAUL_API std::string_view to_string(Status status) noexcept;

/// Strictly ordered: control leaves first, scavenger last. Each maps to a DSCP.
enum class TrafficClass : std::uint8_t { control = 0, critical = 1, bulk = 2, scavenger = 3 };
inline constexpr std::size_t kTrafficClasses = 4;
LONGHAUL_API std::string_view to_string(TrafficClass traffic_class) noexcept;

/// What the receiver must get.
enum class Reliability : std::uint8_t {
  exact = 0,         ///< every byte, digest-verified
  bounded_loss = 1,  ///< at most `loss_budget` bytes may be missing when the deadline comes
  best_effort = 2,   ///< each chunk leaves once
};
LONGHAUL_API std::string_view to_string(Reliability reliability) noexcept;

}  // namespace longhaul
