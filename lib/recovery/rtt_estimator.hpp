// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "longhaul/time.hpp"

namespace longhaul::recovery {

/// RFC 9002 §5. Until the first sample every query answers from the initial RTT.
class RttEstimator {
 public:
  explicit RttEstimator(Duration initial) noexcept : smoothed_(initial), variation_(initial / 2) {}

  /// `ack_delay` is what the peer says it waited; min_rtt ignores it.
  void on_sample(Duration latest, Duration ack_delay) noexcept;

  bool has_sample() const noexcept { return has_sample_; }
  Duration latest() const noexcept { return latest_; }
  Duration min() const noexcept { return has_sample_ ? min_ : smoothed_; }
  Duration smoothed() const noexcept { return smoothed_; }
  Duration variation() const noexcept { return variation_; }
  /// RFC 9002 §6.2.1 without the back-off and the peer's delay.
  Duration pto() const noexcept;

 private:
  bool has_sample_ = false;
  Duration latest_{};
  Duration min_{};
  Duration smoothed_;
  Duration variation_;
};

}  // namespace longhaul::recovery
