// SPDX-License-Identifier: Apache-2.0
#include "lib/netmodel/bottleneck.hpp"

#include <gtest/gtest.h>

#include "lib/base/random.hpp"

namespace longhaul::netmodel {
namespace {

using namespace std::chrono_literals;

constexpr Timestamp at(Duration time) {
  return Timestamp{} + time;
}

TEST(Bottleneck, TakesExactlyItsBitsDividedByTheRateOverALongRun) {
  // A rate that divides nothing evenly, and sizes that change all the time.
  constexpr std::uint64_t kRate = 9'999'999'967;
  Bottleneck line;
  line.configure(kRate, 0);
  base::Random random(1);
  std::uint64_t bytes = 0;
  Timestamp finish{};
  for (int i = 0; i < 1'000'000; ++i) {
    const std::uint64_t size = 64 + random.below(9000);
    bytes += size;
    finish = *line.enqueue(at(5ns), size);
  }
  const std::uint64_t gigabits = bytes * 8;
  __extension__ using Wide = unsigned __int128;
  const auto exact = static_cast<std::int64_t>(Wide{gigabits} * 1'000'000'000 / kRate);
  EXPECT_EQ((finish - at(5ns)).count(), exact);
}

TEST(Bottleneck, StartsAtOnceWhenIdle) {
  Bottleneck line;
  line.configure(8'000'000'000, 0);  // one byte a nanosecond
  EXPECT_EQ(*line.enqueue(at(100ns), 1000), at(1100ns));
  EXPECT_EQ(*line.enqueue(at(1100ns), 1000), at(2100ns));
  EXPECT_EQ(*line.enqueue(at(5000ns), 1000), at(6000ns));
  EXPECT_EQ(line.queue_bytes_max(), 0u);
}

TEST(Bottleneck, QueueHoldsWhatWaitsAndNotWhatIsInService) {
  Bottleneck line;
  line.configure(8'000'000'000, 3000);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(line.enqueue(at(0ns), 1000)) << i;
  EXPECT_FALSE(line.enqueue(at(0ns), 1000));
  EXPECT_FALSE(line.enqueue(at(999ns), 1));
  // At 1000 ns the second goes into service: room for one more.
  EXPECT_EQ(*line.enqueue(at(1000ns), 1000), at(5000ns));
  EXPECT_FALSE(line.enqueue(at(1000ns), 1));
  EXPECT_EQ(line.queue_bytes_max(), 3000u);
  // Small ones fit where a large one does not.
  EXPECT_FALSE(line.enqueue(at(2000ns), 1001));
  EXPECT_EQ(*line.enqueue(at(2000ns), 500), at(5500ns));
  EXPECT_EQ(*line.enqueue(at(2000ns), 500), at(6000ns));
  EXPECT_FALSE(line.enqueue(at(2000ns), 1));
}

TEST(Bottleneck, KeepsTheQueueWhenTheRateChanges) {
  Bottleneck line;
  line.configure(8'000'000'000, 0);
  line.enqueue(at(0ns), 1000);
  line.enqueue(at(0ns), 1000);
  line.configure(800'000'000, 0);
  EXPECT_EQ(*line.enqueue(at(0ns), 1000), at(12000ns));
  line.configure(0, 0);
  EXPECT_EQ(*line.enqueue(at(0ns), 1000), at(12000ns));
  EXPECT_EQ(*line.enqueue(at(20000ns), 1000), at(20000ns));
}

TEST(Bottleneck, EarliestFinishIsExactForTheNextPacket) {
  Bottleneck line;
  line.configure(1'000'000'007, 0);
  base::Random random(3);
  Timestamp now{};
  for (int i = 0; i < 10000; ++i) {
    now += Duration{static_cast<std::int64_t>(random.below(20000))};
    const std::uint64_t size = 40 + random.below(3) * 700;
    const Timestamp bound = line.earliest_finish(now, size);
    const Timestamp finish = *line.enqueue(now, size);
    ASSERT_LE(bound, finish);
    ASSERT_LE(finish - bound, 1ns);
  }
}

}  // namespace
}  // namespace longhaul::netmodel
