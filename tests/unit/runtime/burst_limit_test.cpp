// SPDX-License-Identifier: Apache-2.0
#include "lib/runtime/burst_limit.hpp"

#include <gtest/gtest.h>

namespace longhaul::runtime {
namespace {

constexpr BurstBounds kTrains{
    .datagrams_max = 256, .bytes_max = 384 * 1024, .train_bytes = 65507, .train_datagrams = 64};
constexpr BurstBounds kSingly{.datagrams_max = 256, .bytes_max = 384 * 1024};

TEST(BurstLimitTest, bytes_stay_in_the_cache) {
  EXPECT_EQ(BurstLimit(kSingly, 8972).datagrams(), 43u);
  EXPECT_EQ(BurstLimit(kSingly, 1472).datagrams(), 256u);
}

TEST(BurstLimitTest, trains_are_full) {
  EXPECT_EQ(BurstLimit(kTrains, 8972).datagrams(), 42u);   // 7 a train
  EXPECT_EQ(BurstLimit(kTrains, 1472).datagrams(), 220u);  // 44 a train
  EXPECT_EQ(BurstLimit(kTrains, 100).datagrams(), 256u);   // 64 a train
}

TEST(BurstLimitTest, the_largest_datagrams_make_a_burst_all_the_same) {
  EXPECT_EQ(BurstLimit(kTrains, 65507).datagrams(), 16u);
  BurstBounds one = kTrains;
  one.datagrams_max = 1;
  EXPECT_EQ(BurstLimit(one, 1472).datagrams(), 1u);
  EXPECT_EQ(BurstLimit(kTrains, 0).datagrams(), 256u);
}

TEST(BurstLimitTest, follows_what_the_path_carries) {
  BurstLimit limit(kTrains, 8972);
  for (int i = 0; i < 1000; ++i) limit.on_burst(1472);
  EXPECT_EQ(limit.datagrams(), 220u);
  limit.on_burst(8972);
  EXPECT_EQ(limit.datagrams(), 42u);
}

TEST(BurstLimitTest, a_few_bursts_of_acknowledgements_change_little) {
  BurstLimit limit(kTrains, 8972);
  for (int i = 0; i < 3; ++i) limit.on_burst(60);
  EXPECT_LE(limit.datagrams(), 56u);
}

}  // namespace
}  // namespace longhaul::runtime
