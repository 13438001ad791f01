// SPDX-License-Identifier: Apache-2.0
// Rounds, and the end of slow start before the queue overflows (RFC 9406).
#pragma once

#include <cstdint>

#include "longhaul/time.hpp"

namespace longhaul::congestion {

/// Counts round trips by send times, because packet numbers of a path's spaces cannot be compared.
/// The first acknowledgement begins the first round; a round ends when a packet is acknowledged
/// that left after the round began.
class RoundCounter {
 public:
  void on_sent(Timestamp now);
  /// True if the acknowledgement ends the round and begins the next.
  bool on_ack(Timestamp newest_acked_sent_at);
  /// Send time of the newest packet; Timestamp::min() before the first.
  Timestamp latest_sent() const { return latest_sent_; }

 private:
  Timestamp latest_sent_ = Timestamp::min();
  Timestamp round_end_ = Timestamp::min();
};

/// HyStart++: watches the smallest RTT of each round in the first slow start. When it rises, growth
/// continues at a quarter (conservative slow start) for some rounds; if the RTT falls back the
/// alarm was false, else slow start is over.
class HyStart {
 public:
  /// `rtt` > 0.
  void on_rtt_sample(Duration rtt);
  /// Call at each end of a round; true once slow start should end.
  bool on_round_end();
  /// In conservative slow start?
  bool conservative() const { return conservative_; }
  /// How many acknowledged bytes the window grows by one byte for.
  std::uint64_t growth_divisor() const { return conservative_ ? kGrowthDivisor : 1; }

  static constexpr std::uint64_t kGrowthDivisor = 4;
  static constexpr std::uint32_t kConservativeRounds = 5;
  static constexpr std::uint32_t kSamplesPerRound = 8;

 private:
  static constexpr Duration kUnknown = Duration::max();

  Duration last_round_min_ = kUnknown;
  Duration round_min_ = kUnknown;
  Duration baseline_ = kUnknown;
  std::uint32_t samples_ = 0;
  std::uint32_t conservative_rounds_ = 0;
  bool conservative_ = false;
};

}  // namespace longhaul::congestion
