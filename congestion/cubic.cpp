// SPDX-License-Identifier: Apache-2.0
#include "congestion/cubic.hpp"

#include <algorithm>

namespace longhaul::congestion {
namespace {

// β_cubic = 7/10 and C = 4/10 segments/s³ (RFC 9438 §4.1, §4.6).
constexpr std::uint64_t kBetaNumerator = 7;
constexpr std::uint64_t kBetaDenominator = 10;
// (1 + β) / 2 of fast convergence (§4.7).
constexpr std::uint64_t kConvergenceNumerator = 17;
constexpr std::uint64_t kConvergenceDenominator = 20;
// α_cubic = 3 (1 − β) / (1 + β) = 9/17 until Reno's window passes cwnd_prior, 1 from there (§4.3).
constexpr std::uint64_t kAlphaNumerator = 9;
constexpr std::uint64_t kAlphaDenominator = 17;
// 1 / C and C in µs³ and segments: K³ = ΔW · 10^18 · 10/4, W = t³ · 4/10 / 10^18.
constexpr std::uint64_t kInverseC = 2'500'000'000'000'000'000;
// Beyond 2^33 µs (2.4 hours) from the plateau the curve is flat, to stay within 128 bits.
constexpr std::uint64_t kCurveReach = std::uint64_t{1} << 33;

// Gains of RFC 9002 §7.7, in quarters.
constexpr std::uint64_t kGainUnit = 4;
constexpr std::uint64_t kSlowStartGain = 8;
constexpr std::uint64_t kGain = 5;

std::uint64_t microseconds(Duration time) {
  return static_cast<std::uint64_t>(time.count()) / 1000;
}

}  // namespace

Cubic::Cubic(const ControllerConfig& config)
    : max_datagram_(sane_datagram(config.max_datagram)),
      window_max_(config.window_max),
      rate_max_(config.configured_rate == 0 ? kRateCeiling : config.configured_rate),
      smoothed_rtt_(std::clamp(config.initial_rtt, kRttFloor, kRttCeiling)) {
  state_.window = initial_window(max_datagram_);
  bound_and_pace();
}

void Cubic::on_sent(const SentEvent& event) {
  rounds_.on_sent(event.now);
  flight_peak_ = std::max(flight_peak_, event.bytes_in_flight);
}

void Cubic::on_ack(const AckEvent& event) {
  if (event.smoothed_rtt > Duration::zero()) {
    smoothed_rtt_ = std::clamp(event.smoothed_rtt, kRttFloor, kRttCeiling);
  }
  watch_round(event);
  if (event.ce_packets > 0) {
    untouched_ = false;
    handle_congestion(event.now, event.newest_acked_sent_at);
    episode_.undoable = false;  // a mark is never spurious
  }
  if (event.acked_bytes > 0 && !in_recovery(event.newest_acked_sent_at)) {
    untouched_ = false;
    if (event.application_limited || !window_in_use()) {
      pause_epoch(event.now);
    } else {
      resume_epoch(event.now);
      grow(std::min(event.acked_bytes, state_.window), event.now);
    }
  }
  bound_and_pace();
}

void Cubic::on_loss(const LossEvent& event) {
  if (event.lost_packets == 0 && !event.persistent_congestion) return;
  untouched_ = false;
  if (handle_congestion(event.now, event.newest_lost_sent_at)) episode_.undoable = true;
  episode_.lost_packets = saturated_sum(episode_.lost_packets, event.lost_packets);
  if (event.persistent_congestion) {
    // RFC 9002 §7.6.2. The path may be another one now, so the old plateau is forgotten (RFC 9438
    // §4.8).
    state_.window = minimum_window(max_datagram_);
    state_.w_max = 0;
    state_.epoch_begun = false;
    episode_.undoable = false;
    recovery_start_ = std::max({recovery_start_, event.now, rounds_.latest_sent()});
  }
  bound_and_pace();
}

void Cubic::on_spurious_loss(Timestamp now, Timestamp sent_at) {
  if (!episode_.undoable || !in_recovery(sent_at) || sent_at <= episode_.sent_after) return;
  ++episode_.spurious_packets;
  if (episode_.spurious_packets < episode_.lost_packets) return;
  episode_.undoable = false;
  if (state_.window >= undo_.window) return;
  state_ = undo_;
  // Packets sent before the reduction may report real congestion again.
  recovery_start_ = episode_.sent_after;
  // The detour is no time of the curve, or the window would leap.
  if (state_.epoch_begun) {
    state_.epoch_start = later(state_.epoch_start, elapsed(episode_.began_at, now));
  }
  paused_since_.reset();
  bound_and_pace();
}

void Cubic::on_max_datagram_changed(std::uint64_t max_datagram) {
  max_datagram_ = sane_datagram(max_datagram);
  if (untouched_) state_.window = initial_window(max_datagram_);
  state_.epoch_begun = false;  // K was in segments of the old size
  bound_and_pace();
}

// A window larger than twice what is used is not being tested, so acknowledgements say nothing
// about it (RFC 9438 §4.6 asks for this of controllers that reduce cwnd instead of flight_size).
bool Cubic::window_in_use() const {
  return state_.window / 2 <= std::max(flight_peak_, flight_peak_previous_);
}

void Cubic::watch_round(const AckEvent& event) {
  const bool first_slow_start = state_.ssthresh == UINT64_MAX;
  if (first_slow_start && event.latest_rtt > Duration::zero()) {
    hystart_.on_rtt_sample(event.latest_rtt);
  }
  if (event.acked_bytes == 0 || !rounds_.on_ack(event.newest_acked_sent_at)) return;
  flight_peak_previous_ = flight_peak_;
  flight_peak_ = event.bytes_in_flight;
  if (first_slow_start && hystart_.on_round_end()) {
    state_.ssthresh = state_.window;
    state_.window_prior = state_.window;
  }
}

// Reduces the window unless it already was for packets of this flight. Returns whether it did.
bool Cubic::handle_congestion(Timestamp now, Timestamp sent_at) {
  if (in_recovery(sent_at)) return false;
  undo_ = state_;
  episode_ = Episode{.began_at = now, .sent_after = recovery_start_};
  const std::uint64_t window = state_.window;
  state_.w_max = window < state_.w_max
                     ? multiply_divide(window, kConvergenceNumerator, kConvergenceDenominator)
                     : window;
  state_.window_prior = window;
  state_.ssthresh = std::max(multiply_divide(window, kBetaNumerator, kBetaDenominator),
                             minimum_window(max_datagram_));
  state_.window = state_.ssthresh;
  state_.epoch_begun = false;
  paused_since_.reset();
  // Packets handed out with a departure still to come belong to the old flight too.
  recovery_start_ = std::max(now, rounds_.latest_sent());
  return true;
}

void Cubic::grow(std::uint64_t acked_bytes, Timestamp now) {
  if (!in_slow_start()) {
    grow_in_congestion_avoidance(acked_bytes, now);
    return;
  }
  const bool first_slow_start = state_.ssthresh == UINT64_MAX;
  const std::uint64_t divisor = first_slow_start ? hystart_.growth_divisor() : 1;
  state_.window = std::min(state_.window + acked_bytes / divisor, state_.ssthresh);
}

void Cubic::grow_in_congestion_avoidance(std::uint64_t acked_bytes, Timestamp now) {
  if (!state_.epoch_begun) begin_epoch(now);
  grow_reno_estimate(acked_bytes);
  const Duration since_epoch = elapsed(state_.epoch_start, now);
  const std::uint64_t window = state_.window;
  if (curve(since_epoch) < state_.w_est) {
    state_.window = std::max(window, state_.w_est);
    return;
  }
  const std::uint64_t target =
      std::clamp(curve(since_epoch + smoothed_rtt_), window, window + window / 2);
  const Uint128 growth =
      static_cast<Uint128>(target - window) * acked_bytes + state_.window_remainder;
  state_.window = window + saturated(growth / window);
  state_.window_remainder = static_cast<std::uint64_t>(growth % window);
}

// W_est += α · segments_acked / cwnd, in bytes.
void Cubic::grow_reno_estimate(std::uint64_t acked_bytes) {
  const std::uint64_t alpha =
      state_.w_est < state_.window_prior ? kAlphaNumerator : kAlphaDenominator;
  const std::uint64_t unit = state_.window * kAlphaDenominator;
  const Uint128 growth =
      static_cast<Uint128>(acked_bytes) * max_datagram_ * alpha + state_.w_est_remainder;
  state_.w_est = std::min(saturated_sum(state_.w_est, saturated(growth / unit)), kWindowCeiling);
  state_.w_est_remainder = static_cast<std::uint64_t>(growth % unit);
}

void Cubic::begin_epoch(Timestamp now) {
  state_.epoch_begun = true;
  state_.epoch_start = now;
  state_.w_est = state_.window;
  state_.window_remainder = 0;
  state_.w_est_remainder = 0;
  if (state_.w_max > state_.window) {
    state_.plateau = state_.w_max;
    state_.k_us =
        cube_root(static_cast<Uint128>(state_.w_max - state_.window) * kInverseC / max_datagram_);
  } else {
    state_.plateau = state_.window;
    state_.k_us = 0;
  }
}

// Time without a full window is not the curve's time (RFC 9438 §5.8).
void Cubic::pause_epoch(Timestamp now) {
  if (state_.epoch_begun && !paused_since_) paused_since_ = now;
}

void Cubic::resume_epoch(Timestamp now) {
  if (paused_since_ && state_.epoch_begun) {
    state_.epoch_start = later(state_.epoch_start, elapsed(*paused_since_, now));
  }
  paused_since_.reset();
}

// W_cubic(t) = C · (t − K)³ + W_max, in bytes.
std::uint64_t Cubic::curve(Duration since_epoch) const {
  const std::uint64_t t = microseconds(since_epoch);
  const std::uint64_t distance =
      std::min(t > state_.k_us ? t - state_.k_us : state_.k_us - t, kCurveReach);
  const Uint128 cube = static_cast<Uint128>(distance) * distance * distance;
  const std::uint64_t bytes = saturated(cube * max_datagram_ / kInverseC);
  if (t >= state_.k_us) return std::min(saturated_sum(state_.plateau, bytes), kWindowCeiling);
  return state_.plateau > bytes ? state_.plateau - bytes : 0;
}

void Cubic::bound_and_pace() {
  state_.window = bounded_window(state_.window, window_max_, max_datagram_);
  const std::uint64_t gain = in_slow_start() ? kSlowStartGain : kGain;
  const BitsPerSecond rate = rate_of(state_.window * gain / kGainUnit, smoothed_rtt_);
  pacing_rate_ = std::clamp(rate, kRateFloor, std::max(rate_max_, kRateFloor));
}

}  // namespace longhaul::congestion
