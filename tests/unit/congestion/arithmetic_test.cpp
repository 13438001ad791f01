// SPDX-License-Identifier: Apache-2.0
#include "congestion/arithmetic.hpp"

#include <gtest/gtest.h>

#include "lib/base/random.hpp"

namespace longhaul::congestion {
namespace {

Uint128 cube(std::uint64_t value) {
  return static_cast<Uint128>(value) * value * value;
}

TEST(CubeRoot, IsExactAroundPerfectCubes) {
  EXPECT_EQ(cube_root(0), 0u);
  for (std::uint64_t root = 1; root < 20'000; ++root) {
    ASSERT_EQ(cube_root(cube(root)), root);
    ASSERT_EQ(cube_root(cube(root) - 1), root - 1);
    ASSERT_EQ(cube_root(cube(root + 1) - 1), root);
  }
}

TEST(CubeRoot, IsTheFloorOverTheWholeRange) {
  base::Random random(1);
  for (int i = 0; i < 100'000; ++i) {
    Uint128 value = (static_cast<Uint128>(random.next()) << 64) | random.next();
    value >>= random.below(128);
    const std::uint64_t root = cube_root(value);
    ASSERT_LE(cube(root), value);
    if (root < 6'981'463'658'331) {  // ∛(2^128), beyond which the next cube does not fit
      ASSERT_GT(cube(root + 1), value);
    }
  }
  EXPECT_EQ(cube_root(~Uint128{0}), 6'981'463'658'331u);
}

TEST(Elapsed, SaturatesInsteadOfOverflowing) {
  const Timestamp origin{};
  EXPECT_EQ(elapsed(origin, origin + Duration(5)), Duration(5));
  EXPECT_EQ(elapsed(origin + Duration(5), origin), Duration(0));
  EXPECT_EQ(elapsed(Timestamp::min(), Timestamp::max()).count(), std::int64_t{1} << 62);
  EXPECT_EQ(elapsed(Timestamp::max(), Timestamp::min()), Duration(0));
}

TEST(LaterAndEarlier, StopAtTheEndsOfTime) {
  EXPECT_EQ(later(kNever - Duration(3), Duration(4)), kNever);
  EXPECT_EQ(later(kNever, Duration::max()), kNever);
  EXPECT_EQ(later(Timestamp{}, Duration(4)), Timestamp{} + Duration(4));
  EXPECT_EQ(earlier(Timestamp::min() + Duration(3), Duration(4)), Timestamp::min());
  EXPECT_EQ(earlier(Timestamp{}, Duration(4)), Timestamp{} - Duration(4));
}

TEST(BytesIn, IsExactOnTheLongestFattestLine) {
  EXPECT_EQ(bytes_in(800'000'000'000, std::chrono::milliseconds(200)), 20'000'000'000u);
  EXPECT_EQ(bytes_in(1'000'000, std::chrono::milliseconds(200)), 25'000u);
  EXPECT_EQ(bytes_in(1'000'000, Duration(8'000)), 1u);
  EXPECT_EQ(bytes_in(1'000'000, Duration(7'999)), 0u);
  EXPECT_EQ(bytes_in(1'000'000, Duration(-1)), 0u);
  EXPECT_EQ(bytes_in(UINT64_MAX, Duration::max()), UINT64_MAX);
}

TEST(RateOf, InvertsBytesIn) {
  EXPECT_EQ(rate_of(20'000'000'000, std::chrono::milliseconds(200)), 800'000'000'000u);
  EXPECT_EQ(rate_of(25'000, std::chrono::milliseconds(200)), 1'000'000u);
  EXPECT_EQ(rate_of(0, std::chrono::milliseconds(200)), kRateFloor);
  EXPECT_EQ(rate_of(UINT64_MAX, Duration(0)), kRateCeiling);
}

TEST(InitialWindow, IsRfc9002s) {
  EXPECT_EQ(initial_window(1200), 12'000u);
  EXPECT_EQ(initial_window(1472), 14'720u);
  EXPECT_EQ(initial_window(8952), 17'904u);
}

TEST(BoundedWindow, PrefersTheMinimumToTheMaximum) {
  EXPECT_EQ(bounded_window(50'000, 0, 1200), 50'000u);
  EXPECT_EQ(bounded_window(50'000, 40'000, 1200), 40'000u);
  EXPECT_EQ(bounded_window(50'000, 1, 1200), 2'400u);
  EXPECT_EQ(bounded_window(0, 0, 1200), 2'400u);
  EXPECT_EQ(bounded_window(UINT64_MAX, 0, 1200), kWindowCeiling);
}

}  // namespace
}  // namespace longhaul::congestion
