// SPDX-License-Identifier: Apache-2.0
// The operator's rate, for lines whose rate is known and ours.
#pragma once

#include <optional>

#include "congestion/arithmetic.hpp"
#include "longhaul/congestion.hpp"

namespace longhaul::congestion {

/// Smallest round trip of the last five to ten seconds. Unlike a minimum of all time it follows a
/// route that became longer.
class RecentMinimum {
 public:
  /// Adds a sample taken at `now`.
  void add(Timestamp now, Duration rtt);
  /// The minimum; nothing before the first sample.
  std::optional<Duration> value() const;

 private:
  static constexpr Duration kBucket = std::chrono::seconds(5);

  bool has_sample_ = false;
  Timestamp bucket_start_{};
  Duration current_{};
  Duration previous_{};
};

/// Paces at `configured_rate` whatever is lost. The window only keeps a dead path from being
/// filled for ever: 2 × rate × RTT, plus 10 ms of the rate and at least 64 datagrams for hosts that
/// are scheduled late. RTT is the recent minimum, raised to smoothed_rtt (but at most doubled)
/// where the path jitters.
class Fixed final : public Controller {
 public:
  /// A rate of 0 cannot be paced; it counts as kRateUnset. `make_controller` refuses it by name.
  explicit Fixed(const ControllerConfig& config);

  void on_sent(const SentEvent& event) override;
  void on_ack(const AckEvent& event) override;
  void on_loss(const LossEvent& event) override;
  void on_spurious_loss(Timestamp now, Timestamp sent_at) override;
  void on_max_datagram_changed(std::uint64_t max_datagram) override;

  std::uint64_t congestion_window() const override { return window_; }
  BitsPerSecond pacing_rate() const override { return rate_; }
  std::string_view name() const override { return "fixed"; }

  /// Used when nobody configured a rate: slow and visible instead of stuck.
  static constexpr BitsPerSecond kRateUnset = 1'000'000;

 private:
  void update_window();

  BitsPerSecond rate_;
  std::uint64_t max_datagram_;
  std::uint64_t window_max_;
  Duration initial_rtt_;
  Duration smoothed_rtt_{};
  RecentMinimum min_rtt_;
  std::uint64_t window_ = 0;
};

}  // namespace longhaul::congestion
