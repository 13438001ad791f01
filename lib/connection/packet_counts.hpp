// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "lib/crypto/packet_protection.hpp"
#include "lib/transfer/messages.hpp"
#include "lib/wire/frame.hpp"
#include "longhaul/stats.hpp"
#include "longhaul/time.hpp"

namespace longhaul::connection {

using DropCounts = std::array<std::uint64_t, kDropReasons>;

/// What held the sender back since the last look.
enum class Limit : std::uint8_t { nothing, congestion, receiver, application };

/// Counters of one connection that belong to no duty of their own.
struct PacketCounts {
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t packets_lost = 0;
  std::uint64_t spurious_losses = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint32_t migrations = 0;
  Limit limit = Limit::nothing;
  Timestamp limit_since{};
  std::array<Duration, 4> limited{};
};

/// Borrowed from the endpoint, and scratch memory that one call at a time uses.
struct Shared {
  std::deque<transfer::Event>* events = nullptr;
  DropCounts* drops = nullptr;
  std::vector<crypto::SealJob> seal_jobs;
  std::vector<crypto::OpenJob> open_jobs;
  std::vector<wire::Gap> gaps;

  void drop(DropReason reason) const noexcept { ++(*drops)[static_cast<std::size_t>(reason)]; }
};

}  // namespace longhaul::connection
