// SPDX-License-Identifier: Apache-2.0
#include "lib/recovery/rtt_estimator.hpp"

#include <algorithm>

namespace longhaul::recovery {
namespace {
// RFC 9002 §6.1.2 takes 1 ms; a machine-room path is far below it, and the timers that use this
// are backed by acknowledgements that are answered at once.
constexpr Duration kGranularity = std::chrono::microseconds(100);
}  // namespace

void RttEstimator::on_sample(Duration latest, Duration ack_delay) noexcept {
  latest_ = std::max(latest, Duration{1});
  if (!has_sample_) {
    has_sample_ = true;
    min_ = smoothed_ = latest_;
    variation_ = latest_ / 2;
    return;
  }
  min_ = std::min(min_, latest_);
  const Duration adjusted = latest_ >= min_ + ack_delay ? latest_ - ack_delay : latest_;
  const Duration error = smoothed_ > adjusted ? smoothed_ - adjusted : adjusted - smoothed_;
  variation_ = (3 * variation_ + error) / 4;
  smoothed_ = (7 * smoothed_ + adjusted) / 8;
}

Duration RttEstimator::pto() const noexcept {
  return smoothed_ + std::max(4 * variation_, kGranularity);
}

}  // namespace longhaul::recovery
