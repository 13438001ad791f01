// SPDX-License-Identifier: Apache-2.0
// The integer controller against RFC 9438's equations in long double, and against the averages the
// RFC's own tables give.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "congestion/cubic.hpp"

namespace longhaul::congestion {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Real = long double;

Real in_seconds(Duration time) {
  return static_cast<Real>(time.count()) * 1e-9L;
}

// RFC 9438 §4 in segments and seconds, with the equations' own names.
class Reference {
 public:
  Reference(Real window, Real segment) : cwnd(window / segment), segment_(segment) {}

  void on_ack(Real acked_bytes, Real now, Real rtt) {
    const Real segments_acked = acked_bytes / segment_;
    if (cwnd < ssthresh) {
      cwnd = std::min(cwnd + segments_acked, ssthresh);
      return;
    }
    if (!in_epoch) {
      in_epoch = true;
      t_epoch = now;
      w_est = cwnd;
      plateau = std::max(w_max, cwnd);
      k = std::cbrt((plateau - cwnd) / 0.4L);
    }
    const Real t = now - t_epoch;
    const Real alpha = w_est < cwnd_prior ? 3 * (1 - 0.7L) / (1 + 0.7L) : 1;
    w_est += alpha * segments_acked / cwnd;
    if (w_cubic(t) < w_est) {
      cwnd = std::max(cwnd, w_est);
    } else {
      const Real target = std::clamp(w_cubic(t + rtt), cwnd, 1.5L * cwnd);
      cwnd += (target - cwnd) / cwnd * segments_acked;
    }
  }

  void on_loss() {
    w_max = cwnd < w_max ? cwnd * (1 + 0.7L) / 2 : cwnd;
    cwnd_prior = cwnd;
    ssthresh = std::max(cwnd * 0.7L, Real{2});
    cwnd = ssthresh;
    in_epoch = false;
  }

  Real bytes() const { return cwnd * segment_; }
  Real w_cubic(Real t) const { return 0.4L * (t - k) * (t - k) * (t - k) + plateau; }

  Real cwnd;
  Real ssthresh = 1e30L;
  Real w_max = 0;
  Real cwnd_prior = 0;
  Real w_est = 0;
  Real plateau = 0;
  Real k = 0;
  Real t_epoch = 0;
  bool in_epoch = false;

 private:
  Real segment_;
};

// A sender that always fills its window on a path of constant RTT, with `kSlices` ACKs a round.
class FullSender {
 public:
  static constexpr int kSlices = 16;

  FullSender(std::uint64_t segment, Duration rtt)
      : cubic({.max_datagram = segment, .initial_rtt = rtt}), rtt_(rtt) {
    cubic.on_sent({.now = now, .bytes_in_flight = cubic.congestion_window()});
    now += rtt;
  }

  std::uint64_t ack() {
    now += rtt_ / kSlices;
    const std::uint64_t acked = std::max<std::uint64_t>(cubic.congestion_window() / kSlices, 1);
    const std::uint64_t window = cubic.congestion_window();
    cubic.on_ack({.now = now,
                  .newest_acked_sent_at = now - rtt_,
                  .acked_bytes = acked,
                  .acked_packets = 1,
                  .bytes_in_flight = window - acked,
                  .latest_rtt = rtt_,
                  .min_rtt = rtt_,
                  .smoothed_rtt = rtt_});
    cubic.on_sent({.now = now, .bytes_in_flight = cubic.congestion_window()});
    return acked;
  }

  // Loses a packet just sent; acknowledgements resume a round later, when recovery is over.
  void lose() {
    cubic.on_loss({.now = now,
                   .newest_lost_sent_at = now,
                   .lost_bytes = 1,
                   .lost_packets = 1,
                   .bytes_in_flight = cubic.congestion_window()});
    now += rtt_ + rtt_ / kSlices;
  }

  Cubic cubic;
  Timestamp now = Timestamp{} + std::chrono::seconds(10);

 private:
  Duration rtt_;
};

struct Case {
  std::uint64_t segments;  // window at the first loss
  Duration rtt;
  std::uint64_t segment;
};

class CubicModel : public testing::TestWithParam<Case> {};

TEST_P(CubicModel, FollowsTheEquationsThroughThreeCongestionEvents) {
  const std::uint64_t segments = GetParam().segments;
  const Duration rtt = GetParam().rtt;
  const std::uint64_t segment = GetParam().segment;
  FullSender sender(segment, rtt);
  Reference reference(static_cast<Real>(sender.cubic.congestion_window()),
                      static_cast<Real>(segment));
  const auto ack = [&] {
    const std::uint64_t acked = sender.ack();
    reference.on_ack(static_cast<Real>(acked), in_seconds(sender.now.time_since_epoch()),
                     in_seconds(rtt));
    const Real window = static_cast<Real>(sender.cubic.congestion_window());
    ASSERT_NEAR(static_cast<double>(window / reference.bytes()), 1.0, 1e-4)
        << window << " bytes, not " << reference.bytes() << ", K " << reference.k;
  };
  while (sender.cubic.congestion_window() < segments * segment) ASSERT_NO_FATAL_FAILURE(ack());
  // Beyond the plateau, short of the plateau (fast convergence), and far beyond.
  for (const Real share_of_k : {1.3L, 0.6L, 2.0L}) {
    sender.lose();
    reference.on_loss();
    ASSERT_NO_FATAL_FAILURE(ack());
    const Real until = in_seconds(sender.now.time_since_epoch()) + share_of_k * reference.k;
    for (int i = 0; i < 50'000 && in_seconds(sender.now.time_since_epoch()) < until; ++i) {
      ASSERT_NO_FATAL_FAILURE(ack());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Paths, CubicModel,
    testing::Values(Case{20, milliseconds(10), 1200}, Case{20, milliseconds(300), 1200},
                    Case{300, milliseconds(1), 1200}, Case{300, milliseconds(100), 8952},
                    Case{5'000, microseconds(10), 1200}, Case{5'000, milliseconds(20), 1200},
                    Case{100'000, milliseconds(50), 8952}, Case{100'000, milliseconds(500), 1200},
                    Case{5'000'000, milliseconds(200), 8952},
                    Case{5'000'000, milliseconds(500), 8952}),
    [](const auto& instance) {
      return std::to_string(instance.param.segments) + "_segments_of_" +
             std::to_string(instance.param.segment) + "_bytes_at_" +
             std::to_string(instance.param.rtt.count() / 1000) + "_us";
    });

TEST(CubicModel, IsBackAtTheOldWindowAfterKSeconds) {
  // 10 Gbit/s × 100 ms of 1250-byte segments: 100,000; K = ∛(30,000 / 0.4) = 42.17 s.
  FullSender sender(1250, milliseconds(100));
  while (sender.cubic.congestion_window() < 125'000'000) sender.ack();
  const auto before = static_cast<double>(sender.cubic.congestion_window());
  sender.lose();
  const Timestamp start = sender.now;
  EXPECT_NEAR(static_cast<double>(sender.cubic.congestion_window()) / before, 0.7, 1e-6);
  const double k = std::cbrt(before * 0.3 / 1250 / 0.4);
  while (static_cast<double>((sender.now - start).count()) * 1e-9 < k) sender.ack();
  EXPECT_NEAR(static_cast<double>(sender.cubic.congestion_window()) / before, 1.0, 1e-3);
}

// §5.1: average windows with one loss every 1/p packets.
double average_window(Duration rtt, std::uint64_t packets_between_losses) {
  constexpr std::uint64_t kSegment = 1500;
  FullSender sender(kSegment, rtt);
  double sum = 0;
  double samples = 0;
  for (int loss = 0; loss < 120; ++loss) {
    std::uint64_t until_loss = packets_between_losses * kSegment;
    while (until_loss > 0) {
      until_loss -= std::min(until_loss, sender.ack());
      if (loss < 60) continue;  // settling
      sum += static_cast<double>(sender.cubic.congestion_window()) / kSegment;
      ++samples;
    }
    sender.lose();
  }
  return sum / samples;
}

TEST(CubicModel, HasTheAverageWindowsOfTheRfcAtAHundredMilliseconds) {
  EXPECT_NEAR(average_window(milliseconds(100), 10'000) / 187, 1.0, 0.1);
  EXPECT_NEAR(average_window(milliseconds(100), 100'000) / 1054, 1.0, 0.1);
  EXPECT_NEAR(average_window(milliseconds(100), 1'000'000) / 5926, 1.0, 0.1);
}

TEST(CubicModel, HasTheAverageWindowsOfRenoAtTenMilliseconds) {
  EXPECT_NEAR(average_window(milliseconds(10), 1'000) / 38, 1.0, 0.15);
  EXPECT_NEAR(average_window(milliseconds(10), 10'000) / 120, 1.0, 0.15);
  EXPECT_NEAR(average_window(milliseconds(10), 100'000) / 379, 1.0, 0.15);
}

}  // namespace
}  // namespace longhaul::congestion
