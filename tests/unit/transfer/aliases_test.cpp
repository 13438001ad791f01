// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/aliases.hpp"

#include <gtest/gtest.h>

namespace longhaul::transfer {
namespace {

constexpr std::uint32_t kCount = wire::kAliasMax + 1;

TEST(aliases, are_given_in_turn_and_begin_again_after_the_last) {
  Aliases aliases;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const std::uint32_t alias = aliases.take();
    ASSERT_EQ(alias, i);
    aliases.release(alias);
  }
  EXPECT_EQ(aliases.take(), 0u);
}

TEST(aliases, one_that_still_lives_is_passed_over) {
  Aliases aliases;
  EXPECT_EQ(aliases.take(), 0u);  // lives for ever
  EXPECT_EQ(aliases.take(), 1u);  // and so does this
  for (std::uint32_t i = 2; i < kCount; ++i) aliases.release(aliases.take());
  EXPECT_EQ(aliases.take(), 2u);
}

TEST(aliases, a_released_one_does_not_come_back_before_its_turn) {
  Aliases aliases;
  aliases.release(aliases.take());
  EXPECT_EQ(aliases.take(), 1u);
}

TEST(ended_aliases, late_packets_of_what_is_over_are_known) {
  EndedAliases ended;
  ended.add(5);
  EXPECT_TRUE(ended.contains(5));
  EXPECT_FALSE(ended.contains(6));
}

TEST(ended_aliases, a_name_in_use_again_is_not_over) {
  EndedAliases ended;
  ended.add(5);
  ended.on_announced(5);
  EXPECT_FALSE(ended.contains(5));
}

TEST(ended_aliases, announcements_that_overtake_each_other_forget_nothing) {
  EndedAliases ended;
  ended.add(1001);
  ended.on_announced(1000);
  ended.on_announced(900);
  EXPECT_TRUE(ended.contains(1001));
}

TEST(ended_aliases, packets_of_the_next_round_are_not_taken_for_late_ones) {
  EndedAliases ended;
  for (std::uint32_t round = 0; round < 3; ++round)
    for (std::uint32_t alias = 0; alias < kCount; alias += 64) {
      // A packet may come a little before its announcement.
      ASSERT_FALSE(ended.contains(alias)) << "round " << round;
      ended.on_announced(alias);
      for (std::uint32_t i = 0; i < 64; ++i) ended.add(alias + i);
      ASSERT_TRUE(ended.contains(alias));
    }
}

}  // namespace
}  // namespace longhaul::transfer
