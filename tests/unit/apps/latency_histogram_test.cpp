// SPDX-License-Identifier: Apache-2.0
#include "apps/common/latency_histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "apps/common/pattern.hpp"

namespace longhaul::apps {
namespace {

TEST(LatencyHistogram, WithoutSamplesEverythingIsZero) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.percentile(50).count(), 0);
  EXPECT_EQ(histogram.max().count(), 0);
}

TEST(LatencyHistogram, ASingleSampleIsEveryPercentile) {
  LatencyHistogram histogram;
  histogram.record(Duration(123'456'789));
  for (const double percent : {0.1, 50.0, 99.0, 100.0}) {
    EXPECT_EQ(histogram.percentile(percent).count(), 123'456'789);
  }
}

TEST(LatencyHistogram, SmallValuesAreExact) {
  LatencyHistogram histogram;
  for (int value = 1; value <= 100; ++value) histogram.record(Duration(value));
  EXPECT_EQ(histogram.percentile(50).count(), 50);
  EXPECT_EQ(histogram.percentile(99).count(), 99);
  EXPECT_EQ(histogram.percentile(100).count(), 100);
}

TEST(LatencyHistogram, NegativeTimesCountAsZeroAndHugeOnesFit) {
  LatencyHistogram histogram;
  histogram.record(Duration(-5));
  histogram.record(Duration::max());
  EXPECT_EQ(histogram.percentile(50).count(), 0);
  EXPECT_EQ(histogram.percentile(100), Duration::max());
}

TEST(LatencyHistogram, PercentilesStayWithinOnePercentOfTheSortedSamples) {
  LatencyHistogram histogram;
  std::vector<std::int64_t> samples;
  const Pattern pattern(7);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    // Spread over nine orders of magnitude.
    const auto value =
        static_cast<std::int64_t>(pattern.word(i) >> (20 + pattern.word(i + 1'000'000) % 30));
    samples.push_back(value);
    histogram.record(Duration(value));
  }
  std::sort(samples.begin(), samples.end());
  for (const double percent : {1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * 20'000));
    const auto exact = static_cast<double>(samples[rank - 1]);
    const auto found = static_cast<double>(histogram.percentile(percent).count());
    EXPECT_GE(found, exact);
    EXPECT_LE(found, exact * 1.008 + 1) << percent;
  }
  EXPECT_EQ(histogram.max().count(), samples.back());
}

}  // namespace
}  // namespace longhaul::apps
