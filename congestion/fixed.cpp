// SPDX-License-Identifier: Apache-2.0
#include "congestion/fixed.hpp"

#include <algorithm>

namespace longhaul::congestion {
namespace {

constexpr Duration kSlackTime = std::chrono::milliseconds(10);
constexpr std::uint64_t kSlackDatagrams = 64;

BitsPerSecond sane_rate(BitsPerSecond configured) {
  if (configured == 0) return Fixed::kRateUnset;
  return std::clamp(configured, kRateFloor, kRateCeiling);
}

}  // namespace

void RecentMinimum::add(Timestamp now, Duration rtt) {
  if (!has_sample_ || elapsed(bucket_start_, now) >= 2 * kBucket) {
    has_sample_ = true;
    bucket_start_ = now;
    current_ = previous_ = rtt;
  } else if (elapsed(bucket_start_, now) >= kBucket) {
    bucket_start_ = now;
    previous_ = current_;
    current_ = rtt;
  } else {
    current_ = std::min(current_, rtt);
  }
}

std::optional<Duration> RecentMinimum::value() const {
  if (!has_sample_) return std::nullopt;
  return std::min(current_, previous_);
}

Fixed::Fixed(const ControllerConfig& config)
    : rate_(sane_rate(config.configured_rate)),
      max_datagram_(sane_datagram(config.max_datagram)),
      window_max_(config.window_max),
      initial_rtt_(config.initial_rtt) {
  update_window();
}

void Fixed::on_sent(const SentEvent&) {}

void Fixed::on_ack(const AckEvent& event) {
  if (event.latest_rtt <= Duration::zero()) return;
  min_rtt_.add(event.now, event.latest_rtt);
  smoothed_rtt_ = event.smoothed_rtt;
  update_window();
}

// Losses of a leased line are not a reason to send less: the line is as wide as it was.
void Fixed::on_loss(const LossEvent&) {}

void Fixed::on_spurious_loss(Timestamp, Timestamp) {}

void Fixed::on_max_datagram_changed(std::uint64_t max_datagram) {
  max_datagram_ = sane_datagram(max_datagram);
  update_window();
}

void Fixed::update_window() {
  const Duration minimum =
      std::clamp(min_rtt_.value().value_or(initial_rtt_), kRttFloor, kRttCeiling);
  const Duration rtt = std::max(minimum, std::min(smoothed_rtt_, 2 * minimum));
  const std::uint64_t slack =
      std::max(bytes_in(rate_, kSlackTime), kSlackDatagrams * max_datagram_);
  window_ =
      bounded_window(saturated_sum(bytes_in(rate_, 2 * rtt), slack), window_max_, max_datagram_);
}

}  // namespace longhaul::congestion
