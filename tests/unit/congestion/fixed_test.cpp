// SPDX-License-Identifier: Apache-2.0
#include "congestion/fixed.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace longhaul::congestion {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

AckEvent sample(Timestamp now, Duration rtt, Duration smoothed) {
  return {.now = now,
          .newest_acked_sent_at = now - rtt,
          .acked_bytes = 1200,
          .acked_packets = 1,
          .latest_rtt = rtt,
          .min_rtt = rtt,
          .smoothed_rtt = smoothed};
}

TEST(Fixed, HasAnExactWindowFromOneMegabitToEightHundredGigabits) {
  for (BitsPerSecond rate = 1'000'000; rate <= 800'000'000'000; rate *= 2) {
    Fixed controller({.max_datagram = 1200, .configured_rate = rate});
    controller.on_ack(sample(Timestamp{} + seconds(1), milliseconds(200), milliseconds(200)));
    EXPECT_EQ(controller.pacing_rate(), rate);
    // 2 × rate × 200 ms / 8 = rate / 20, and rate × 10 ms / 8 = rate / 800 if that is more.
    EXPECT_EQ(controller.congestion_window(),
              rate / 20 + std::max<std::uint64_t>(rate / 800, 64 * 1200));
  }
  Fixed fastest({.max_datagram = 8952, .configured_rate = 800'000'000'000});
  fastest.on_ack(sample(Timestamp{} + seconds(1), milliseconds(200), milliseconds(200)));
  EXPECT_EQ(fastest.congestion_window(), 41'000'000'000u);
}

TEST(Fixed, UsesTheInitialRttUntilASampleExists) {
  Fixed controller({.configured_rate = 10'000'000'000, .initial_rtt = milliseconds(40)});
  EXPECT_EQ(controller.congestion_window(), 100'000'000u + 12'500'000u);
  controller.on_ack(sample(Timestamp{} + seconds(1), Duration(0), Duration(0)));  // no sample
  EXPECT_EQ(controller.congestion_window(), 100'000'000u + 12'500'000u);
  controller.on_ack(sample(Timestamp{} + seconds(1), milliseconds(4), milliseconds(4)));
  EXPECT_EQ(controller.congestion_window(), 10'000'000u + 12'500'000u);
}

TEST(Fixed, DoesNotSlowDownOnLoss) {
  Fixed controller({.configured_rate = 1'000'000'000});
  const std::uint64_t window = controller.congestion_window();
  controller.on_loss({.now = Timestamp{} + seconds(1),
                      .newest_lost_sent_at = Timestamp{},
                      .lost_bytes = 1'000'000,
                      .lost_packets = 800,
                      .persistent_congestion = true});
  EXPECT_EQ(controller.congestion_window(), window);
  EXPECT_EQ(controller.pacing_rate(), 1'000'000'000u);
}

TEST(Fixed, GivesAJitteringPathRoomButAStandingQueueOnlyTwice) {
  Fixed controller({.configured_rate = 8'000'000'000});  // one byte per ns
  controller.on_ack(sample(Timestamp{} + seconds(1), milliseconds(10), milliseconds(10)));
  EXPECT_EQ(controller.congestion_window(), 20'000'000u + 10'000'000u);
  controller.on_ack(sample(Timestamp{} + seconds(2), milliseconds(20), milliseconds(15)));
  EXPECT_EQ(controller.congestion_window(), 30'000'000u + 10'000'000u);
  controller.on_ack(sample(Timestamp{} + seconds(2), milliseconds(900), milliseconds(800)));
  EXPECT_EQ(controller.congestion_window(), 40'000'000u + 10'000'000u);
}

TEST(Fixed, FollowsARouteThatBecameLonger) {
  Fixed controller({.configured_rate = 8'000'000'000});
  Timestamp now = Timestamp{} + seconds(1);
  controller.on_ack(sample(now, milliseconds(10), milliseconds(10)));
  for (int i = 0; i < 110; ++i) {
    now += milliseconds(100);
    controller.on_ack(sample(now, milliseconds(80), milliseconds(80)));
  }
  EXPECT_EQ(controller.congestion_window(), 160'000'000u + 10'000'000u);
}

TEST(Fixed, KeepsAMinimumWithoutARate) {
  Fixed controller({.configured_rate = 0});
  EXPECT_EQ(controller.pacing_rate(), Fixed::kRateUnset);
  EXPECT_GE(controller.congestion_window(), 16u * 1200);
}

TEST(RecentMinimum, ForgetsAfterTenSecondsAndRemembersForFive) {
  RecentMinimum minimum;
  EXPECT_FALSE(minimum.value());
  const Timestamp start{};
  minimum.add(start, milliseconds(3));
  for (int ms = 0; ms <= 5000; ms += 50) minimum.add(start + milliseconds(ms), milliseconds(9));
  EXPECT_EQ(minimum.value(), milliseconds(3));
  for (int ms = 5000; ms <= 10'000; ms += 50) {
    minimum.add(start + milliseconds(ms), milliseconds(9));
  }
  EXPECT_EQ(minimum.value(), milliseconds(9));
  minimum.add(start + seconds(60), milliseconds(50));  // after silence the sample stands alone
  EXPECT_EQ(minimum.value(), milliseconds(50));
}

}  // namespace
}  // namespace longhaul::congestion
