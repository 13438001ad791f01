// SPDX-License-Identifier: Apache-2.0
#include "lib/netmodel/corruption.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <vector>

namespace longhaul::netmodel {
namespace {

std::size_t bits_set(std::span<const std::byte> bytes) {
  std::size_t count = 0;
  for (const std::byte byte : bytes) {
    count += static_cast<std::size_t>(std::popcount(std::to_integer<unsigned>(byte)));
  }
  return count;
}

TEST(Corruption, FlipsOneToEightDifferentBitsAndEachCountOccurs) {
  std::set<std::size_t> counts;
  for (std::uint64_t corruption = 1; corruption < 4000; corruption += 2) {
    std::vector<std::byte> datagram(1 + corruption % 50);
    damage(datagram, datagram.size(), corruption);
    const std::size_t flipped = bits_set(datagram);
    ASSERT_EQ(flipped, bit_flips(corruption, datagram.size()).count);
    ASSERT_GE(flipped, 1u);
    ASSERT_LE(flipped, 8u);
    counts.insert(flipped);
  }
  EXPECT_EQ(counts.size(), 8u);
}

TEST(Corruption, ReachesEveryByteOfTheDatagram) {
  std::vector<int> hits(64, 0);
  for (std::uint64_t corruption = 1; corruption < 4000; ++corruption) {
    const BitFlips flips = bit_flips(corruption, hits.size());
    for (std::size_t i = 0; i < flips.count; ++i) ++hits[flips.bits[i] / 8];
  }
  for (const int count : hits) EXPECT_NEAR(count, 4000 * 4.5 / 64, 85);  // five sigma
}

TEST(Corruption, FrontOfADatagramIsDamagedAsInTheWhole) {
  for (std::uint64_t corruption = 1; corruption < 500; ++corruption) {
    std::vector<std::byte> whole(100);
    std::vector<std::byte> front(22);
    damage(whole, whole.size(), corruption);
    damage(front, whole.size(), corruption);
    ASSERT_TRUE(std::equal(front.begin(), front.end(), whole.begin()));
  }
}

TEST(Corruption, LeavesAnEmptyDatagramAlone) {
  EXPECT_EQ(bit_flips(5, 0).count, 0u);
  damage({}, 0, 5);
}

}  // namespace
}  // namespace longhaul::netmodel
