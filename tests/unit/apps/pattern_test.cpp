// SPDX-License-Identifier: Apache-2.0
#include "apps/common/pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace longhaul::apps {
namespace {

TEST(Pattern, AnyPartEqualsThatPartOfTheWhole) {
  const Pattern pattern(42);
  std::vector<std::byte> whole(1000);
  pattern.fill(0, whole);
  for (std::size_t offset = 0; offset < 40; ++offset) {
    for (const std::size_t length : {0u, 1u, 3u, 7u, 8u, 9u, 64u, 501u}) {
      std::vector<std::byte> part(length);
      pattern.fill(offset, part);
      EXPECT_TRUE(
          std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(offset)))
          << offset << " " << length;
    }
  }
}

TEST(Pattern, SeedsGiveDifferentBytes) {
  std::vector<std::byte> one(64), other(64);
  Pattern(1).fill(0, one);
  Pattern(2).fill(0, other);
  EXPECT_NE(one, other);
}

TEST(Pattern, EqualsTheReferenceGenerator) {
  // First outputs of SplitMix64 with state 0, as its authors publish them.
  EXPECT_EQ(Pattern(0).word(0), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(Pattern(0).word(1), 0x6e789e6aa1b965f4ULL);
}

}  // namespace
}  // namespace longhaul::apps
