// SPDX-License-Identifier: Apache-2.0
#include "lib/recovery/rtt_estimator.hpp"

#include <gtest/gtest.h>

namespace longhaul::recovery {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(rtt_estimator, answers_from_the_initial_rtt_until_the_first_sample) {
  const RttEstimator rtt(milliseconds(100));
  EXPECT_FALSE(rtt.has_sample());
  EXPECT_EQ(rtt.smoothed(), milliseconds(100));
  EXPECT_EQ(rtt.min(), milliseconds(100));
  EXPECT_EQ(rtt.variation(), milliseconds(50));
  EXPECT_EQ(rtt.pto(), milliseconds(300));
}

TEST(rtt_estimator, the_first_sample_replaces_the_initial_rtt) {
  RttEstimator rtt(milliseconds(100));
  rtt.on_sample(milliseconds(20), milliseconds(5));
  EXPECT_EQ(rtt.smoothed(), milliseconds(20));
  EXPECT_EQ(rtt.variation(), milliseconds(10));
  EXPECT_EQ(rtt.min(), milliseconds(20));
  EXPECT_EQ(rtt.latest(), milliseconds(20));
}

TEST(rtt_estimator, later_samples_are_smoothed_as_rfc_9002_says) {
  RttEstimator rtt(milliseconds(100));
  rtt.on_sample(milliseconds(40), {});
  rtt.on_sample(milliseconds(80), {});
  EXPECT_EQ(rtt.smoothed(), milliseconds(45));   // 7/8 × 40 + 1/8 × 80
  EXPECT_EQ(rtt.variation(), milliseconds(25));  // 3/4 × 20 + 1/4 × 40
}

TEST(rtt_estimator, the_peers_delay_is_taken_off_unless_that_goes_below_the_minimum) {
  RttEstimator rtt(milliseconds(100));
  rtt.on_sample(milliseconds(40), {});
  rtt.on_sample(milliseconds(50), milliseconds(10));
  EXPECT_EQ(rtt.smoothed(), milliseconds(40));
  rtt.on_sample(milliseconds(48), milliseconds(9));  // would be 39
  EXPECT_EQ(rtt.smoothed(), milliseconds(41));
}

TEST(rtt_estimator, the_minimum_ignores_what_the_peer_says_it_waited) {
  RttEstimator rtt(milliseconds(100));
  rtt.on_sample(milliseconds(40), {});
  rtt.on_sample(milliseconds(60), milliseconds(59));
  EXPECT_EQ(rtt.min(), milliseconds(40));
  rtt.on_sample(milliseconds(30), {});
  EXPECT_EQ(rtt.min(), milliseconds(30));
}

TEST(rtt_estimator, the_pto_of_a_steady_path_never_falls_to_the_rtt_itself) {
  RttEstimator rtt(milliseconds(100));
  for (int i = 0; i < 200; ++i) rtt.on_sample(milliseconds(10), {});
  EXPECT_EQ(rtt.smoothed(), milliseconds(10));
  EXPECT_EQ(rtt.pto(), milliseconds(10) + microseconds(100));
}

TEST(rtt_estimator, a_sample_of_no_time_is_not_believed) {
  RttEstimator rtt(milliseconds(100));
  rtt.on_sample(Duration{0}, {});
  EXPECT_GT(rtt.min().count(), 0);
}

}  // namespace
}  // namespace longhaul::recovery
