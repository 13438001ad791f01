// SPDX-License-Identifier: Apache-2.0
#include "congestion/pacer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lib/base/random.hpp"

namespace longhaul::congestion {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Timestamp kStart = Timestamp{} + seconds(100);

constexpr BitsPerSecond kRates[] = {1'000'000,      3'333'333,       10'000'000,
                                    999'999'937,    1'000'000'000,   10'000'000'000,
                                    99'999'999'977, 400'000'000'000, 800'000'000'000};

double seconds_between(Timestamp from, Timestamp to) {
  return static_cast<double>((to - from).count()) * 1e-9;
}

// Sends `count` packets of `size()` bytes at their departures; returns the bytes per second between
// the first departure after the burst and the last.
template <typename Size>
double measured_rate(Pacer& pacer, int count, Size size) {
  Timestamp now = kStart;
  while (pacer.departure(now) == now) pacer.on_sent(now, size());
  const Timestamp first = pacer.departure(now);
  std::uint64_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    now = pacer.departure(now);
    const std::uint64_t packet = size();
    pacer.on_sent(now, packet);
    bytes += packet;
  }
  return static_cast<double>(bytes) * 8 / seconds_between(first, pacer.departure(now));
}

TEST(Pacer, KeepsTheRateWithinAMillionthFromOneMegabitToEightHundredGigabits) {
  for (const BitsPerSecond rate : kRates) {
    for (const std::uint64_t size : {64u, 1200u, 1201u, 8952u}) {
      Pacer pacer(rate, {.max_datagram = 9000});
      const double measured = measured_rate(pacer, 200'000, [size] { return size; });
      EXPECT_NEAR(measured / static_cast<double>(rate), 1.0, 1e-6) << rate << " " << size;
    }
  }
}

TEST(Pacer, KeepsTheRateWithMixedSizes) {
  for (const BitsPerSecond rate : kRates) {
    base::Random random(rate);
    Pacer pacer(rate, {.max_datagram = 9000});
    const double measured =
        measured_rate(pacer, 200'000, [&random] { return 40 + random.below(8961); });
    EXPECT_NEAR(measured / static_cast<double>(rate), 1.0, 1e-6) << rate;
  }
}

TEST(Pacer, SpacesPacketsEvenly) {
  Pacer pacer(12'000'000'000);  // 1200 bytes in 800 ns
  Timestamp now = kStart;
  while (pacer.departure(now) == now) pacer.on_sent(now, 1200);
  Timestamp last = pacer.departure(now);
  pacer.on_sent(last, 1200);
  for (int i = 0; i < 1000; ++i) {
    const Timestamp next = pacer.departure(last);
    ASSERT_EQ(next - last, Duration(800));
    pacer.on_sent(next, 1200);
    last = next;
  }
}

TEST(Pacer, LetsABurstLeaveAtOnceAfterIdleTimeAndNoMore) {
  for (const BitsPerSecond rate : kRates) {
    Pacer pacer(rate);
    Timestamp now = kStart;
    for (const Duration idle : {Duration(seconds(1)), Duration(seconds(3600))}) {
      pacer.on_idle();
      now += idle;
      std::uint64_t bytes = 0;
      while (pacer.ready(now, Duration::zero())) {
        pacer.on_sent(pacer.departure(now), 1200);
        bytes += 1200;
      }
      EXPECT_LE(bytes, pacer.burst_bytes()) << rate;
      EXPECT_GT(bytes + 1200, pacer.burst_bytes()) << rate;
    }
  }
}

TEST(Pacer, HasBurstsOfFiftyMicrosecondsWithinTenDatagramsAnd256KiB) {
  EXPECT_EQ(Pacer(100'000'000).burst_bytes(), 12'000u);
  // Ten datagrams would take longer than 4 ms: 4 ms, then two datagrams.
  EXPECT_EQ(Pacer(10'000'000).burst_bytes(), 5'000u);
  EXPECT_EQ(Pacer(1'000'000).burst_bytes(), 2400u);
  EXPECT_EQ(Pacer(10'000'000'000).burst_bytes(), 62'500u);
  EXPECT_EQ(Pacer(800'000'000'000).burst_bytes(), 256u * 1024);
  Pacer pacer(1'000'000);
  pacer.set_max_datagram(8952);
  EXPECT_EQ(pacer.burst_bytes(), 2u * 8952);
}

// A poll loop that always has packets and sends whatever is due when it wakes.
std::uint64_t run_poll_loop(Pacer& pacer, Duration time, base::Random& random,
                            Duration (*oversleep)(base::Random&)) {
  std::uint64_t bytes = 0;
  Timestamp now = kStart;
  while (now < kStart + time) {
    while (pacer.ready(now, Duration::zero())) {
      pacer.on_sent(pacer.departure(now), 1200);
      bytes += 1200;
    }
    now = pacer.next_send_time(now) + oversleep(random);
  }
  return bytes;
}

TEST(Pacer, KeepsItsAverageWhenTheCallerOversleeps) {
  for (const BitsPerSecond rate : {100'000'000u, 1'000'000'000u, 4'000'000'000u}) {
    base::Random random(3);
    Pacer pacer(rate);
    // Around 100 µs late each time and now and then 900 µs, as a sleeping worker is.
    const std::uint64_t bytes = run_poll_loop(pacer, seconds(2), random, [](base::Random& r) {
      return Duration(static_cast<std::int64_t>(r.chance(0.01) ? 900'000 : r.below(200'000)));
    });
    EXPECT_NEAR(static_cast<double>(bytes) * 8 / 2 / static_cast<double>(rate), 1.0, 0.002);
  }
}

TEST(Pacer, MakesUpForLongLatenessOnlyUpToItsLimit) {
  Pacer pacer(8'000'000'000);  // one byte per ns
  Timestamp now = kStart;
  while (pacer.ready(now, Duration::zero())) pacer.on_sent(now, 1200);
  now += milliseconds(50);  // descheduled
  std::uint64_t bytes = 0;
  while (pacer.ready(now, Duration::zero())) {
    pacer.on_sent(pacer.departure(now), 1200);
    bytes += 1200;
  }
  EXPECT_GE(bytes, 1'000'000u);
  EXPECT_LE(bytes, 1'000'000u + 1200);
}

TEST(Pacer, MakesUpForSixtyFourKibibytesWhereTheRateIsLow) {
  Pacer pacer(400'000'000);  // 64 KiB are 1.3 ms
  Timestamp now = kStart;
  while (pacer.ready(now, Duration::zero())) pacer.on_sent(now, 1200);
  now += milliseconds(50);
  std::uint64_t bytes = 0;
  while (pacer.ready(now, Duration::zero())) {
    pacer.on_sent(pacer.departure(now), 1200);
    bytes += 1200;
  }
  EXPECT_GE(bytes, 64u * 1024);
  EXPECT_LE(bytes, 64u * 1024 + 1200);
}

TEST(Pacer, CanBeToldToMakeUpForMore) {
  Pacer pacer(8'000'000'000, {.catch_up = milliseconds(20)});
  Timestamp now = kStart;
  while (pacer.ready(now, Duration::zero())) pacer.on_sent(now, 1200);
  now += milliseconds(8);
  std::uint64_t bytes = 0;
  while (pacer.ready(now, Duration::zero())) {
    pacer.on_sent(pacer.departure(now), 1200);
    bytes += 1200;
  }
  EXPECT_NEAR(static_cast<double>(bytes), 8e6, 2400);
}

TEST(Pacer, FillsAHorizonWithExactDepartures) {
  Pacer pacer(12'000'000'000);
  Timestamp now = kStart;
  while (pacer.ready(now, Duration::zero())) pacer.on_sent(now, 1200);
  now = pacer.next_send_time(now);
  std::vector<Timestamp> departures;
  while (pacer.ready(now, microseconds(20))) {
    departures.push_back(pacer.departure(now));
    pacer.on_sent(departures.back(), 1200);
  }
  ASSERT_EQ(departures.size(), 26u);  // 20 µs / 800 ns, and the one due now
  for (std::size_t i = 0; i < departures.size(); ++i) {
    EXPECT_EQ(departures[i], now + static_cast<int>(i) * Duration(800));
  }
  EXPECT_FALSE(pacer.ready(now, Duration::zero()));
  EXPECT_EQ(pacer.next_send_time(now), now + 26 * Duration(800));
}

TEST(Pacer, ChargesUnpacedPacketsToTheOnesThatWait) {
  Pacer pacer(8'000'000);  // one byte per µs
  Timestamp now = kStart;
  while (pacer.ready(now, Duration::zero())) pacer.on_sent(now, 1200);
  const Timestamp before = pacer.departure(now);
  pacer.on_sent_unpaced(now, 100);
  EXPECT_EQ(pacer.departure(now), before + microseconds(100));
}

TEST(Pacer, ChargesUnpacedPacketsToTheBurstAfterIdleTimeToo) {
  Pacer pacer(8'000'000'000);  // a burst is 50,000 bytes
  for (int i = 0; i < 20; ++i) pacer.on_sent_unpaced(kStart, 1000);
  std::uint64_t bytes = 20'000;
  while (pacer.ready(kStart, Duration::zero())) {
    pacer.on_sent(pacer.departure(kStart), 1000);
    bytes += 1000;
  }
  EXPECT_LE(bytes, pacer.burst_bytes());
  EXPECT_GE(bytes + 1000, pacer.burst_bytes());
}

TEST(Pacer, LetsNoFloodOfUnpacedPacketsStarveTheRest) {
  Pacer pacer(8'000'000);
  Timestamp now = kStart;
  for (int i = 0; i < 100'000; ++i) {
    now += microseconds(10);
    pacer.on_sent_unpaced(now, 100);
  }
  // One millisecond and a burst, which at this rate is 4 ms.
  EXPECT_LE(pacer.departure(now) - now, microseconds(1000 + 4000));
}

TEST(Pacer, KeepsIdleTimeIdleWhenOnlyUnpacedPacketsLeave) {
  Pacer pacer(8'000'000'000);
  Timestamp now = kStart;
  pacer.on_sent(now, 1200);
  pacer.on_idle();
  for (int i = 0; i < 100; ++i) {
    now += milliseconds(10);
    pacer.on_sent_unpaced(now, 60);
  }
  now += milliseconds(10);
  std::uint64_t bytes = 0;
  while (pacer.ready(now, Duration::zero())) {
    pacer.on_sent(pacer.departure(now), 1200);
    bytes += 1200;
  }
  EXPECT_LE(bytes, pacer.burst_bytes());
}

TEST(Pacer, RescalesTheWaitWhenTheRateChanges) {
  Pacer pacer(10'000);
  pacer.on_idle();
  Timestamp now = kStart;
  while (pacer.ready(now, Duration::zero())) pacer.on_sent(now, 1200);
  EXPECT_GE(pacer.departure(now) - now, milliseconds(900));  // 9600 bits at 10 kbit/s
  pacer.set_rate(1'000'000'000);
  EXPECT_LE(pacer.departure(now) - now, microseconds(10));
  pacer.set_rate(10'000);
  EXPECT_GE(pacer.departure(now) - now, milliseconds(900));
}

TEST(Pacer, KeepsTheRateThroughManyRateChanges) {
  base::Random random(11);
  Pacer pacer(1'000'000'000);
  Timestamp now = kStart;
  while (pacer.ready(now, Duration::zero())) pacer.on_sent(now, 1200);
  double expected = 0;
  const Timestamp first = pacer.departure(now);
  for (int i = 0; i < 100'000; ++i) {
    now = pacer.departure(now);
    const BitsPerSecond rate = 100'000'000 + random.below(10'000'000'000);
    pacer.on_sent(now, 1200);
    pacer.set_rate(rate);  // applies to the wait behind the packet just sent
    expected += 1200 * 8 / static_cast<double>(rate);
  }
  EXPECT_NEAR(seconds_between(first, pacer.departure(now)) / expected, 1.0, 1e-6);
}

// Over any interval no more leaves than the rate carries, plus one burst where the sender was idle
// or what lateness allows.
TEST(Pacer, NeverExceedsItsRateByMoreThanItsCredit) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    base::Random random(seed);
    const BitsPerSecond rate = kRates[random.below(std::size(kRates))];
    Pacer pacer(rate);
    const auto packet_time = static_cast<std::int64_t>(1200 * 8e9 / static_cast<double>(rate)) + 1;
    const double credit =
        std::max(1e-3, static_cast<double>(pacer.burst_bytes()) * 8 / static_cast<double>(rate));
    double level = 0;  // of a bucket that leaks at the rate; bits
    Timestamp now = kStart;
    Timestamp last = kStart;
    for (int i = 0; i < 20'000; ++i) {
      if (random.chance(0.05)) pacer.on_idle();
      now += Duration(static_cast<std::int64_t>(random.below(
          static_cast<std::uint64_t>(packet_time) * (random.chance(0.01) ? 5000 : 4))));
      for (int burst = 0; burst < 50 && pacer.ready(now, microseconds(20)); ++burst) {
        const Timestamp departure = pacer.departure(now);
        ASSERT_GE(departure, now);
        ASSERT_GE(departure, last);
        level -= seconds_between(last, departure) * static_cast<double>(rate);
        level = std::max(level, 0.0) + 1200 * 8;
        last = departure;
        const std::uint64_t bytes = 1200;
        pacer.on_sent(departure, bytes);
        ASSERT_LE(level, credit * static_cast<double>(rate) + 2 * 1200 * 8);
        now = std::max(now, departure - microseconds(20));
      }
    }
  }
}

TEST(Pacer, SurvivesNonsense) {
  base::Random random(5);
  const auto any_time = [&random] {
    const std::uint64_t bits = random.next();
    return Timestamp{Duration(static_cast<std::int64_t>(random.chance(0.5) ? bits : bits >> 20))};
  };
  for (int run = 0; run < 200; ++run) {
    Pacer pacer(random.next() >> random.below(64),
                {.max_datagram = random.next() >> random.below(64),
                 .burst_time = Duration(static_cast<std::int64_t>(random.next())),
                 .burst_bytes_max = random.next() >> random.below(64),
                 .catch_up = Duration(static_cast<std::int64_t>(random.next()))});
    for (int i = 0; i < 500; ++i) {
      const Timestamp now = any_time();
      if (random.chance(0.1)) pacer.set_rate(random.next() >> random.below(64));
      if (random.chance(0.1)) pacer.on_idle();
      if (random.chance(0.5)) pacer.on_sent_unpaced(now, random.next() >> random.below(64));
      ASSERT_GE(pacer.departure(now), now);
      pacer.on_sent(pacer.departure(now), random.next() >> random.below(64));
      pacer.ready(now, Duration::max());
      ASSERT_GE(pacer.next_send_time(now), now);
    }
  }
}

}  // namespace
}  // namespace longhaul::congestion
