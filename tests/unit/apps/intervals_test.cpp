// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/intervals.hpp"

#include <gtest/gtest.h>

namespace longhaul::apps::perf {
namespace {

using namespace std::chrono_literals;

constexpr Clock::time_point kStart{};

TEST(IntervalMeter, CutsAtEveryMarkAndSumsWhatLiesBetweenFirstAndLast) {
  IntervalMeter meter(1s, 0s);
  EXPECT_FALSE(meter.next_mark());
  meter.start(kStart, 0);
  EXPECT_EQ(meter.next_mark(), kStart + 1s);
  EXPECT_FALSE(meter.advance(kStart + 999ms, 50));
  const auto first = meter.advance(kStart + 1s, 100);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->bytes, 100u);
  EXPECT_EQ(first->end, 1s);
  EXPECT_DOUBLE_EQ(first->bits_per_second(), 800);
  const auto rest = meter.finish(kStart + 1500ms, 160);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->bytes, 60u);
  EXPECT_EQ(rest->begin, 1s);
  EXPECT_EQ(meter.bytes(), 160u);
  EXPECT_EQ(meter.duration(), 1500ms);
  EXPECT_FALSE(meter.next_mark());
}

TEST(IntervalMeter, ALateMarkDoesNotDelayTheNext) {
  IntervalMeter meter(1s, 0s);
  meter.start(kStart, 0);
  ASSERT_TRUE(meter.advance(kStart + 1300ms, 10));
  EXPECT_EQ(meter.next_mark(), kStart + 2s);
  ASSERT_TRUE(meter.advance(kStart + 4200ms, 20));
  EXPECT_EQ(meter.next_mark(), kStart + 5s);
}

TEST(IntervalMeter, TheOmittedTimeCountsNeitherBytesNorSeconds) {
  IntervalMeter meter(1s, 1500ms);
  meter.start(kStart, 0);
  EXPECT_TRUE(meter.omitting());
  ASSERT_TRUE(meter.advance(kStart + 1s, 100)->omitted);
  EXPECT_EQ(meter.next_mark(), kStart + 1500ms);
  ASSERT_TRUE(meter.advance(kStart + 1500ms, 150)->omitted);
  EXPECT_FALSE(meter.omitting());
  EXPECT_EQ(meter.next_mark(), kStart + 2500ms);
  const auto counted = meter.advance(kStart + 2500ms, 400);
  ASSERT_TRUE(counted);
  EXPECT_FALSE(counted->omitted);
  EXPECT_EQ(counted->begin, 0s);
  EXPECT_EQ(counted->bytes, 250u);
  meter.finish(kStart + 2500ms, 400);
  EXPECT_EQ(meter.bytes(), 250u);
  EXPECT_EQ(meter.duration(), 1s);
}

TEST(IntervalMeter, WithoutIntervalsOnlyTheOmittedTimeIsAMark) {
  IntervalMeter meter(0s, 1s);
  meter.start(kStart, 0);
  EXPECT_EQ(meter.next_mark(), kStart + 1s);
  ASSERT_TRUE(meter.advance(kStart + 1s, 10));
  EXPECT_FALSE(meter.next_mark());
  EXPECT_FALSE(meter.finish(kStart + 3s, 30));
  EXPECT_EQ(meter.bytes(), 20u);
  EXPECT_EQ(meter.duration(), 2s);
}

TEST(IntervalMeter, BytesBeforeTheFirstMarkDoNotCount) {
  IntervalMeter meter(1s, 0s);
  meter.start(kStart, 70);
  meter.finish(kStart + 1s, 100);
  EXPECT_EQ(meter.bytes(), 30u);
}

}  // namespace
}  // namespace longhaul::apps::perf
