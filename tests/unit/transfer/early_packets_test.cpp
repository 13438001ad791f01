// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/early_packets.hpp"

#include <gtest/gtest.h>

#include "tests/unit/transfer/requests.hpp"

namespace longhaul::transfer {
namespace {

TEST(early_packets, come_out_by_alias_oldest_first_and_once) {
  EarlyPackets early;
  EXPECT_TRUE(early.empty());
  const auto bytes = random_bytes(10);
  for (std::uint32_t i = 0; i < 6; ++i)
    ASSERT_TRUE(early.store(i % 2, 3, i, i == 4, {bytes, 10, false}));
  const auto taken = early.take(0);
  ASSERT_EQ(taken.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(taken[i].index, 2 * i);
  EXPECT_EQ(taken[0].bytes, bytes);
  EXPECT_EQ(taken[0].layout, 3u);
  EXPECT_TRUE(taken[2].digest);
  EXPECT_TRUE(early.take(0).empty());
  EXPECT_EQ(early.take(1).size(), 3u);
  EXPECT_TRUE(early.empty());
}

TEST(early_packets, a_full_store_refuses_and_has_room_again_after_a_take) {
  EarlyPackets early;
  const auto bytes = random_bytes(1000);
  std::uint32_t stored = 0;
  while (early.store(stored % 4, 0, stored, false, {bytes, 1000, false}))
    ASSERT_LT(++stored, 100'000u);
  EXPECT_GE(stored, 1000u);
  EXPECT_FALSE(early.store(9, 0, 0, false, {bytes, 1000, false}));
  EXPECT_EQ(early.take(1).size(), stored / 4);
  EXPECT_TRUE(early.store(9, 0, 0, false, {bytes, 1000, false}));
}

TEST(early_packets, large_packets_are_bounded_by_their_bytes) {
  EarlyPackets early;
  const auto bytes = random_bytes(60'000);
  std::uint64_t stored = 0;
  while (early.store(1, 0, 0, false, {bytes, bytes.size(), false})) stored += bytes.size();
  EXPECT_LE(stored, 8u << 20);
  EXPECT_GT(stored, 7u << 20);
}

TEST(early_packets, packets_by_reference_are_bounded_by_what_they_stand_for) {
  EarlyPackets early;
  std::uint64_t stored = 0;
  while (early.store(1, 0, 0, false, {{}, 60'000, true})) stored += 60'000;
  EXPECT_LE(stored, 8u << 20);
  const auto taken = early.take(1);
  EXPECT_TRUE(taken.front().by_reference);
  EXPECT_EQ(taken.front().length, 60'000u);
}

}  // namespace
}  // namespace longhaul::transfer
