// SPDX-License-Identifier: Apache-2.0
#include "congestion/hystart.hpp"

#include <gtest/gtest.h>

namespace longhaul::congestion {
namespace {

using std::chrono::milliseconds;

void add_samples(HyStart& hystart, std::uint32_t count, Duration rtt) {
  for (std::uint32_t i = 0; i < count; ++i) hystart.on_rtt_sample(rtt);
}

TEST(RoundCounter, EndsARoundOncePerRoundTrip) {
  RoundCounter rounds;
  int ended = 0;
  // One packet a millisecond, acknowledged 10 ms later, for 100 ms.
  for (int ms = 0; ms < 100; ++ms) {
    rounds.on_sent(Timestamp{} + milliseconds(ms));
    if (ms >= 10 && rounds.on_ack(Timestamp{} + milliseconds(ms - 10))) ++ended;
  }
  EXPECT_EQ(ended, 8);
}

TEST(RoundCounter, TakesABurstForOneRound) {
  RoundCounter rounds;
  for (int round = 0; round < 5; ++round) {
    const Timestamp sent_at = Timestamp{} + round * milliseconds(10);
    rounds.on_sent(sent_at);
    int ended = 0;
    for (int packet = 0; packet < 10; ++packet) ended += rounds.on_ack(sent_at) ? 1 : 0;
    EXPECT_EQ(ended, round == 0 ? 0 : 1);
  }
}

TEST(HyStart, IgnoresASteadyRtt) {
  HyStart hystart;
  for (int round = 0; round < 50; ++round) {
    add_samples(hystart, 20, milliseconds(50));
    EXPECT_FALSE(hystart.conservative());
    EXPECT_FALSE(hystart.on_round_end());
  }
}

TEST(HyStart, BecomesConservativeWhenTheSmallestRttOfARoundRisesByAnEighth) {
  HyStart hystart;
  add_samples(hystart, 8, milliseconds(80));
  hystart.on_round_end();
  add_samples(hystart, 7, milliseconds(90));
  EXPECT_FALSE(hystart.conservative());  // seven samples prove nothing
  add_samples(hystart, 1, milliseconds(90));
  EXPECT_TRUE(hystart.conservative());
  EXPECT_EQ(hystart.growth_divisor(), 4u);
}

TEST(HyStart, DoesNotMindASmallerRise) {
  HyStart hystart;
  add_samples(hystart, 8, milliseconds(80));
  hystart.on_round_end();
  add_samples(hystart, 100, milliseconds(90) - Duration(1));
  EXPECT_FALSE(hystart.conservative());
}

TEST(HyStart, KeepsItsThresholdBetweenFourAndSixteenMilliseconds) {
  for (const auto& [rtt, threshold] : {std::pair{milliseconds(1), milliseconds(4)},
                                       std::pair{milliseconds(800), milliseconds(16)}}) {
    HyStart hystart;
    add_samples(hystart, 8, rtt);
    hystart.on_round_end();
    add_samples(hystart, 8, rtt + threshold - Duration(1));
    EXPECT_FALSE(hystart.conservative());
    hystart.on_round_end();
    add_samples(hystart, 8, rtt + 2 * threshold);
    EXPECT_TRUE(hystart.conservative());
  }
}

TEST(HyStart, LooksAtTheSmallestSampleOnlySoJitterDoesNotAlarmIt) {
  HyStart hystart;
  add_samples(hystart, 8, milliseconds(50));
  hystart.on_round_end();
  add_samples(hystart, 1, milliseconds(50));
  add_samples(hystart, 100, milliseconds(250));
  EXPECT_FALSE(hystart.conservative());
}

TEST(HyStart, EndsSlowStartAfterFiveConservativeRounds) {
  HyStart hystart;
  add_samples(hystart, 8, milliseconds(50));
  hystart.on_round_end();
  add_samples(hystart, 8, milliseconds(60));
  ASSERT_TRUE(hystart.conservative());
  for (int round = 1; round < 5; ++round) {  // the round of the alarm counts
    EXPECT_FALSE(hystart.on_round_end()) << round;
    add_samples(hystart, 8, milliseconds(60));
  }
  EXPECT_TRUE(hystart.on_round_end());
}

TEST(HyStart, CountsConservativeRoundsAnewAfterAFalseAlarm) {
  HyStart hystart;
  add_samples(hystart, 8, milliseconds(50));
  hystart.on_round_end();
  for (int alarm = 0; alarm < 2; ++alarm) {
    add_samples(hystart, 8, milliseconds(60));
    ASSERT_TRUE(hystart.conservative());
    for (int round = 1; round < 5; ++round) {
      ASSERT_FALSE(hystart.on_round_end());
      add_samples(hystart, 8, milliseconds(60));
    }
    if (alarm == 1) break;
    add_samples(hystart, 1, milliseconds(50));  // false
    ASSERT_FALSE(hystart.conservative());
    ASSERT_FALSE(hystart.on_round_end());
  }
  EXPECT_TRUE(hystart.on_round_end());
}

TEST(HyStart, TakesAFalseAlarmBack) {
  HyStart hystart;
  add_samples(hystart, 8, milliseconds(50));
  hystart.on_round_end();
  add_samples(hystart, 8, milliseconds(60));
  ASSERT_TRUE(hystart.conservative());
  hystart.on_round_end();
  add_samples(hystart, 8, milliseconds(55));
  EXPECT_FALSE(hystart.conservative());
  EXPECT_EQ(hystart.growth_divisor(), 1u);
}

}  // namespace
}  // namespace longhaul::congestion
