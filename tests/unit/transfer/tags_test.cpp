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
  tags.note_ended(7, 3, Status::timed_out);
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

TEST(endings, very_many_in_a_row_are_book_kept) {
  Endings endings(10);
  for (std::uint64_t n = 0; n < 200'000; ++n) ASSERT_TRUE(endings.note(1, n, Status::cancelled));
  EXPECT_EQ(endings.find(1, 199'999), Status::cancelled);
}

TEST(endings, without_order_are_bounded_and_what_is_forgotten_makes_room) {
  Endings endings(100);
  for (std::uint64_t n = 0; n < 200; n += 2) ASSERT_TRUE(endings.note(1, n, Status::cancelled));
  EXPECT_FALSE(endings.note(1, 1000, Status::cancelled));
  EXPECT_FALSE(endings.note(2, 0, Status::cancelled));
  EXPECT_EQ(endings.find(2, 0), Status::pending);
  EXPECT_TRUE(endings.note(1, 1, Status::cancelled)) << "joins two";
  EXPECT_TRUE(endings.note(2, 0, Status::timed_out));
  endings.forget(2, 0);
  EXPECT_TRUE(endings.note(3, 7, Status::refused));
  EXPECT_EQ(endings.find(3, 7), Status::refused);
}

}  // namespace
}  // namespace longhaul::transfer
