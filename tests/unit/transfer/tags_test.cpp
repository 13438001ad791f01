// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/tags.hpp"

#include <gtest/gtest.h>

namespace longhaul::transfer {
namespace {

TEST(tags, each_tag_counts_for_itself) {
  Tags tags;
  EXPECT_EQ(tags.next(7), 0u);
  EXPECT_EQ(tags.take_next(7), 0u);
  EXPECT_EQ(tags.take_next(7), 1u);
  EXPECT_EQ(tags.take_next(8), 0u);
  EXPECT_EQ(tags.next(7), 2u);
}

TEST(tags, an_end_that_came_first_is_told_once) {
  Tags tags;
  EXPECT_TRUE(tags.note_ended(7, 3, Status::timed_out));
  EXPECT_TRUE(tags.has_ended(7, 3));
  EXPECT_FALSE(tags.has_ended(7, 2));
  EXPECT_FALSE(tags.has_ended(8, 3));
  EXPECT_EQ(tags.take_ended(7, 2), Status::pending);
  EXPECT_EQ(tags.take_ended(7, 3), Status::timed_out);
  EXPECT_EQ(tags.take_ended(7, 3), Status::pending);
  EXPECT_FALSE(tags.has_ended(7, 3));
}

TEST(tags, every_way_to_end_early_keeps_its_name) {
  Tags tags;
  const std::array statuses{Status::cancelled, Status::timed_out, Status::refused, Status::corrupt,
                            Status::internal};
  for (std::uint64_t n = 0; n < statuses.size(); ++n) tags.note_ended(1, n, statuses[n]);
  for (std::uint64_t n = 0; n < statuses.size(); ++n) EXPECT_EQ(tags.take_ended(1, n), statuses[n]);
}

TEST(tags, the_first_word_stands) {
  Tags tags;
  tags.note_ended(1, 0, Status::timed_out);
  tags.note_ended(1, 0, Status::cancelled);
  EXPECT_EQ(tags.take_ended(1, 0), Status::timed_out);
  EXPECT_EQ(tags.take_ended(1, 0), Status::pending);
}

TEST(tags, very_many_ends_in_a_row_are_book_kept) {
  Tags tags;
  for (std::uint64_t n = 0; n < 200'000; ++n) ASSERT_TRUE(tags.note_ended(1, n, Status::cancelled));
}

TEST(tags, ends_without_order_are_bounded_and_what_is_taken_makes_room) {
  Tags tags;
  std::uint64_t n = 0;
  while (tags.note_ended(1, n, Status::cancelled)) ASSERT_LT(n += 2, 1'000'000u);
  EXPECT_GE(n, 2 * 10'000u);
  for (std::uint64_t taken = 0; taken <= n; taken += 2) tags.take_ended(1, taken);
  for (std::uint64_t tag = 2; tag < 10'000; ++tag)
    ASSERT_TRUE(tags.note_ended(tag, 5, Status::refused));
}

}  // namespace
}  // namespace longhaul::transfer
