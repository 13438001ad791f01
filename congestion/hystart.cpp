// SPDX-License-Identifier: Apache-2.0
#include "congestion/hystart.hpp"

#include <algorithm>

namespace longhaul::congestion {
namespace {

constexpr Duration kThresholdMin = std::chrono::milliseconds(4);
constexpr Duration kThresholdMax = std::chrono::milliseconds(16);
constexpr std::int64_t kThresholdDivisor = 8;

}  // namespace

void RoundCounter::on_sent(Timestamp now) {
  latest_sent_ = std::max(latest_sent_, now);
}

bool RoundCounter::on_ack(Timestamp newest_acked_sent_at) {
  if (newest_acked_sent_at <= round_end_) return false;
  const bool first = round_end_ == Timestamp::min();
  round_end_ = std::max(latest_sent_, newest_acked_sent_at);
  return !first;
}

void HyStart::on_rtt_sample(Duration rtt) {
  round_min_ = std::min(round_min_, rtt);
  if (samples_ < kSamplesPerRound) ++samples_;
  if (samples_ < kSamplesPerRound) return;
  if (conservative_) {
    if (round_min_ < baseline_) conservative_ = false;
    return;
  }
  if (last_round_min_ == kUnknown) return;
  const Duration threshold =
      std::clamp(last_round_min_ / kThresholdDivisor, kThresholdMin, kThresholdMax);
  if (round_min_ - last_round_min_ >= threshold) {
    conservative_ = true;
    baseline_ = round_min_;
    conservative_rounds_ = 0;
  }
}

bool HyStart::on_round_end() {
  last_round_min_ = round_min_;
  round_min_ = kUnknown;
  samples_ = 0;
  if (!conservative_) return false;
  return ++conservative_rounds_ >= kConservativeRounds;
}

}  // namespace longhaul::congestion
