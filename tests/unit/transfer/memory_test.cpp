// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/transfer/requests.hpp"

namespace longhaul::transfer {
namespace {

// The same bytes whole and as a list of uneven parts, one of them empty.
struct SegmentsTest : testing::Test {
  std::vector<std::byte> whole = random_bytes(1000);
  SourceMemory one;
  SourceMemory list;
  SegmentsTest() {
    const std::span<const std::byte> bytes(whole);
    one.add(bytes);
    for (const auto& part : {bytes.first(1), bytes.subspan(1, 0), bytes.subspan(1, 499),
                             bytes.subspan(500, 3), bytes.subspan(503)})
      list.add(part);
  }
};

TEST_F(SegmentsTest, a_list_is_as_large_as_its_parts) {
  EXPECT_EQ(list.size(), 1000u);
  EXPECT_EQ(SourceMemory{}.size(), 0u);
}

TEST_F(SegmentsTest, a_range_inside_one_part_is_handed_out_without_copying) {
  EXPECT_EQ(list.contiguous(1, 499).data(), whole.data() + 1);
  EXPECT_EQ(list.contiguous(503, 497).data(), whole.data() + 503);
  EXPECT_TRUE(list.contiguous(499, 2).empty());
  EXPECT_TRUE(list.contiguous(0, 1000).empty());
  EXPECT_TRUE(list.contiguous(1000, 0).empty());
}

TEST_F(SegmentsTest, any_range_is_copied_and_digested_as_if_it_were_contiguous) {
  base::Random random(5);
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t offset = random.below(1000);
    const std::uint64_t length = random.below(1000 - offset) + 1;
    std::vector<std::byte> out(length);
    copy_out(list, offset, out);
    ASSERT_TRUE(std::ranges::equal(out, std::span(whole).subspan(offset, length)));
    ASSERT_EQ(digest(list, offset, length), digest(one, offset, length));
  }
}

TEST_F(SegmentsTest, what_is_copied_in_lands_at_its_offset_and_nowhere_else) {
  std::vector<std::byte> target(1000);
  DestinationMemory memory;
  memory.add(std::span(target).first(300));
  memory.add(std::span(target).subspan(300));
  copy_in(std::span(whole).subspan(250, 100), memory, 250);
  for (std::size_t i = 0; i < 1000; ++i)
    ASSERT_EQ(target[i], i >= 250 && i < 350 ? whole[i] : std::byte{0});
}

}  // namespace
}  // namespace longhaul::transfer
