// SPDX-License-Identifier: Apache-2.0
// CUBIC (RFC 9438) over RFC 9002's signals, in integers. The reference controller.
#pragma once

#include <cstdint>
#include <optional>

#include "congestion/arithmetic.hpp"
#include "congestion/hystart.hpp"
#include "longhaul/congestion.hpp"

namespace longhaul::congestion {

/// Windows are bytes; what RFC 9438 counts in segments is scaled by max_datagram. Fractions of a
/// byte are carried, so growth is exact also where one acknowledgement is worth less than a byte.
class Cubic final : public Controller {
 public:
  explicit Cubic(const ControllerConfig& config);

  void on_sent(const SentEvent& event) override;
  void on_ack(const AckEvent& event) override;
  void on_loss(const LossEvent& event) override;
  void on_spurious_loss(Timestamp now, Timestamp sent_at) override;
  void on_max_datagram_changed(std::uint64_t max_datagram) override;

  std::uint64_t congestion_window() const override { return state_.window; }
  BitsPerSecond pacing_rate() const override { return pacing_rate_; }
  std::string_view name() const override { return "cubic"; }

  /// ssthresh; UINT64_MAX until the first congestion event or the end of HyStart++.
  std::uint64_t slow_start_threshold() const { return state_.ssthresh; }
  bool in_slow_start() const { return state_.window < state_.ssthresh; }
  /// In HyStart++'s conservative slow start?
  bool in_conservative_slow_start() const { return in_slow_start() && hystart_.conservative(); }

 private:
  // What a congestion event changes and a spurious one must give back.
  struct State {
    std::uint64_t window = 0;
    std::uint64_t ssthresh = UINT64_MAX;
    std::uint64_t w_max = 0;         // 0 = unknown: the next epoch starts at its plateau
    std::uint64_t window_prior = 0;  // cwnd_prior
    // Of the congestion avoidance epoch, once begun:
    bool epoch_begun = false;
    Timestamp epoch_start{};
    std::uint64_t plateau = 0;  // W_max of the curve
    std::uint64_t k_us = 0;     // K, microseconds
    std::uint64_t w_est = 0;    // Reno's window
    std::uint64_t window_remainder = 0;
    std::uint64_t w_est_remainder = 0;
  };

  // The losses behind the latest reduction, for undoing it.
  struct Episode {
    bool undoable = false;
    Timestamp began_at{};
    Timestamp sent_after = Timestamp::min();  // older packets belong to an earlier episode
    std::uint64_t lost_packets = 0;
    std::uint64_t spurious_packets = 0;
  };

  bool in_recovery(Timestamp sent_at) const { return sent_at <= recovery_start_; }
  bool window_in_use() const;
  void watch_round(const AckEvent& event);
  bool handle_congestion(Timestamp now, Timestamp sent_at);
  void grow(std::uint64_t acked_bytes, Timestamp now);
  void grow_in_congestion_avoidance(std::uint64_t acked_bytes, Timestamp now);
  void grow_reno_estimate(std::uint64_t acked_bytes);
  void begin_epoch(Timestamp now);
  void pause_epoch(Timestamp now);
  void resume_epoch(Timestamp now);
  std::uint64_t curve(Duration since_epoch) const;
  void bound_and_pace();

  std::uint64_t max_datagram_;
  std::uint64_t window_max_;
  BitsPerSecond rate_max_;
  Duration smoothed_rtt_;

  State state_;
  State undo_;
  Episode episode_;
  Timestamp recovery_start_ = Timestamp::min();
  std::optional<Timestamp> paused_since_;
  RoundCounter rounds_;
  HyStart hystart_;
  // Most bytes in flight in this and in the previous round.
  std::uint64_t flight_peak_ = 0;
  std::uint64_t flight_peak_previous_ = 0;
  bool untouched_ = true;  // nothing was acknowledged or lost yet
  BitsPerSecond pacing_rate_ = 0;
};

}  // namespace longhaul::congestion
