// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/interval_set.hpp"
#include "lib/base/random_source.hpp"
#include "lib/recovery/rtt_estimator.hpp"
#include "lib/recovery/sent_packets.hpp"
#include "lib/wire/frame.hpp"
#include "longhaul/time.hpp"

namespace longhaul::recovery {

/// A packet whose fate has just become known.
struct Settled {
  std::uint64_t number = 0;
  SentPacket packet;
};

/// What one acknowledgement changed. The spans live until the next call.
struct AckOutcome {
  bool valid = true;  ///< false: it acknowledges what was never sent (an optimistic peer)
  std::span<const Settled> acked;
  std::span<const Settled> lost;
  std::span<const Settled> spurious;  ///< had been declared lost; only number and sent_at are set
  bool has_rtt_sample = false;
  Duration rtt_sample{};
  Duration ack_delay{};
  std::uint64_t newly_ce = 0;
};

/// Sender's half of one packet-number space: numbers, fates, reordering window.
///
/// A packet is acknowledged only if an ACK's interval covers it and does not list it as a gap; it
/// is lost only if an ACK lists it and a packet that left `window()` later has arrived. What no
/// interval has covered stays unknown.
class SendSpace {
 public:
  std::uint64_t next_number() const noexcept { return sent_.next(); }
  /// The packet gets next_number().
  void on_sent(const SentPacket& packet);
  /// From now on leaves out a number now and then, so that a peer that acknowledges what it has
  /// not received, to be sent more, is found out (RFC 9000 §21.4). `random` outlives the space.
  void skip_numbers(base::RandomSource& random);
  /// `packet_time`: how long a full packet takes at the present pacing rate.
  AckOutcome on_ack(Timestamp now, const wire::Ack& ack, Duration packet_time,
                    Duration smoothed_rtt);
  /// Declares every outstanding packet above `size` lost (path MTU black hole).
  std::span<const Settled> lose_larger_than(std::uint32_t size);
  /// Declares everything outstanding lost.
  std::span<const Settled> lose_all() { return lose_larger_than(0); }

  /// Packets in flight (counted for congestion control) with unknown fate.
  std::uint64_t in_flight_packets() const noexcept { return in_flight_packets_; }
  /// Time by which a packet may be overtaken without being lost.
  Duration window() const noexcept { return window_; }
  void set_minimum_window(Duration packet_time) noexcept;

  /// Numbers below need not be reported any more; rises about an RTT after they settled, so that
  /// packets declared lost too early are still noticed.
  std::uint64_t confirmed_floor(Timestamp now, Duration smoothed_rtt) noexcept;

 private:
  bool claims_skipped(const wire::Ack& ack) const noexcept;
  void settle_received(const wire::Ack& ack);
  void settle_run(std::uint64_t begin, std::uint64_t end);
  void settle_gaps(const wire::Ack& ack);
  void acknowledge(std::uint64_t number);
  void lose(std::uint64_t number, SentPacket& packet);
  void learn_window(Timestamp now, const wire::Ack& ack, Duration packet_time,
                    Duration smoothed_rtt);
  std::uint64_t settled_floor() const noexcept;

  SentPackets sent_;
  base::IntervalSet unsettled_;  // numbers below examined_ with unknown fate
  base::IntervalSet lost_;       // declared lost, not yet below the confirmed floor
  base::RandomSource* skips_ = nullptr;
  std::uint64_t skip_at_ = 0;
  base::IntervalSet skipped_;   // left out, not yet below the confirmed floor
  std::uint64_t examined_ = 0;  // end of what acknowledgements have spoken about
  std::uint64_t in_flight_packets_ = 0;
  Timestamp newest_acked_sent_at_ = Timestamp::min();
  std::uint64_t largest_acked_ = 0;
  bool any_acked_ = false;
  std::uint64_t ce_seen_ = 0;

  Duration window_{};
  Duration lateness_{};  // largest the receiver saw, fading
  Duration learned_window_{};
  Timestamp window_decayed_at_{};

  std::uint64_t floor_confirmed_ = 0;
  std::uint64_t floor_candidate_ = 0;
  Timestamp floor_candidate_at_{};

  std::vector<Settled> acked_out_;
  std::vector<Settled> lost_out_;
  std::vector<Settled> spurious_out_;
  std::vector<base::Interval> scratch_;
};

}  // namespace longhaul::recovery
