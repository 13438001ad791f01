// SPDX-License-Identifier: Apache-2.0
// One direction of a link, as plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "longhaul/time.hpp"

namespace longhaul::netmodel {

/// Gilbert–Elliott: each packet moves the state; every packet is lost with the state's probability.
struct GilbertElliott {
  double good_to_bad = 0;  ///< probability per packet; 0 = off
  double bad_to_good = 1;  ///< 1 / mean burst length in packets
  double loss_good = 0;
  double loss_bad = 1;
};

/// Half-open span of time in which nothing passes: a packet whose last bit leaves the bottleneck in
/// it is gone. What left before is on its way and arrives.
struct DownTime {
  Timestamp from{};
  Timestamp to{};
};

/// Token bucket that drops what exceeds it, as a provider's edge does.
struct Policer {
  std::uint64_t rate_bps = 0;     ///< bits on the wire per second; 0 = off
  std::uint64_t burst_bytes = 0;  ///< wire bytes that pass at once after a pause
};

/// Random early detection on the bytes that wait when a packet arrives, without the packet itself:
/// below `min_bytes` nothing happens, from there the probability rises linearly to `probability` at
/// `max_bytes`, and from `max_bytes` on every packet is hit.
struct RandomEarlyDetection {
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0;  ///< 0 = off; else more than `min_bytes`
  double probability = 0.1;
  bool ecn = false;  ///< a packet that is ECN-capable is marked instead of dropped
};

/// Order of effects: MTU → policer → RED, rate and drop-tail queue → down-time → loss → corruption
/// → duplication → propagation and jitter. Sizes are on the wire: datagram + IP/UDP header +
/// `framing_bytes`.
struct LinkConfig {
  std::uint64_t rate_bps = 0;      ///< bits on the wire per second; 0 = unlimited
  Duration propagation{0};         ///< one way
  Duration jitter{0};              ///< uniform 0…jitter added per packet
  bool jitter_reorders = false;    ///< false: a packet never overtakes (it waits)
  double reorder_probability = 0;  ///< a packet so chosen is held back by `reorder_delay`
  Duration reorder_delay{0};
  std::uint64_t queue_bytes = 0;  ///< drop-tail, excluding the packet in service; 0 = unlimited
  Policer policer{};
  RandomEarlyDetection red{};
  std::uint32_t mtu = 65535;  ///< largest IP packet; larger ones vanish silently
  double loss = 0;            ///< independent, after the bottleneck
  GilbertElliott burst{};
  double duplicate = 0;
  double corrupt = 0;                ///< one to eight random bits flip somewhere in the datagram
  std::vector<DownTime> down{};      ///< in any order; they may overlap
  std::uint32_t framing_bytes = 38;  ///< Ethernet: preamble, header, FCS, gap
};

/// What happened on the link since it was made; changing its configuration keeps them.
struct LinkStats {
  std::uint64_t offered = 0;
  std::uint64_t delivered = 0;  ///< duplicates included
  std::uint64_t too_big = 0;
  std::uint64_t queue_dropped = 0;
  std::uint64_t down_dropped = 0;
  std::uint64_t lost = 0;
  std::uint64_t policed = 0;
  std::uint64_t red_dropped = 0;
  std::uint64_t ecn_marked = 0;  ///< went into the queue with a mark; it may still be lost
  std::uint64_t corrupted = 0;
  std::uint64_t duplicated = 0;
  /// Delivered after a packet offered later, because of jitter or `reorder_probability`.
  std::uint64_t reordered = 0;
  std::uint64_t wire_bytes = 0;  ///< went through the bottleneck, headers and framing included
  std::uint64_t queue_bytes_max = 0;
};

}  // namespace longhaul::netmodel
