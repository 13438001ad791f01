// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/layout.hpp"

#include <gtest/gtest.h>

#include "lib/transfer/pieces.hpp"

namespace longhaul::transfer {
namespace {

using base::Interval;

TEST(layout, chunks_cover_the_range_without_holes_and_the_last_may_be_short) {
  const Layout layout{100, 1000, 950};
  EXPECT_EQ(layout.chunks(), 10u);
  EXPECT_EQ(layout.range(0), (Interval{1000, 1100}));
  EXPECT_EQ(layout.range(8), (Interval{1800, 1900}));
  EXPECT_EQ(layout.range(9), (Interval{1900, 1950}));
}

TEST(layout, an_index_beyond_the_layout_has_no_bytes) {
  const Layout layout{100, 1000, 950};
  EXPECT_EQ(layout.range(10).length(), 0u);
  EXPECT_EQ(layout.range(wire::kChunkIndexMax).length(), 0u);
}

TEST(layout, every_offset_belongs_to_the_chunk_whose_range_holds_it) {
  const Layout layout{7, 3, 40};
  EXPECT_FALSE(layout.covers(2));
  EXPECT_FALSE(layout.covers(43));
  for (std::uint64_t offset = 3; offset < 43; ++offset) {
    ASSERT_TRUE(layout.covers(offset));
    const Interval range = layout.range(layout.index_of(offset));
    ASSERT_LE(range.begin, offset);
    ASSERT_GT(range.end, offset);
  }
}

TEST(layout, offsets_beyond_four_gigabytes_keep_all_their_bits) {
  const Layout layout{8972, std::uint64_t{1} << 40, std::uint64_t{8972} << 24};
  EXPECT_EQ(layout.chunks(), std::uint64_t{1} << 24);
  EXPECT_EQ(layout.range(wire::kChunkIndexMax).end, layout.end());
  EXPECT_EQ(layout.index_of(layout.end() - 1), wire::kChunkIndexMax);
}

TEST(pieces, the_last_piece_and_the_last_group_may_be_short) {
  const Pieces pieces{65 * 1024 + 1, 10};
  EXPECT_EQ(pieces.count(), 66u);
  EXPECT_EQ(pieces.groups(), 2u);
  EXPECT_EQ(pieces.range(65), (Interval{65 * 1024, 65 * 1024 + 1}));
  EXPECT_EQ(pieces.group(0), (Interval{0, 64}));
  EXPECT_EQ(pieces.group(1), (Interval{64, 66}));
}

TEST(pieces, what_does_not_exist_is_empty) {
  const Pieces pieces{1024, 10};
  EXPECT_EQ(pieces.range(1).length(), 0u);
  EXPECT_EQ(pieces.group(1).length(), 0u);
  EXPECT_EQ((Pieces{0, 10}).count(), 0u);
  EXPECT_EQ((Pieces{0, 10}).group(0).length(), 0u);
}

}  // namespace
}  // namespace longhaul::transfer
