// SPDX-License-Identifier: Apache-2.0
#include "lib/netmodel/link.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace longhaul::netmodel {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kHeader = 28;
constexpr Timestamp at(Duration time) {
  return Timestamp{} + time;
}
double margin(double n, double p) {
  return 3.29 * std::sqrt(n * p * (1 - p));
}

/// Arrivals of packets offered one by one, `gap` apart.
std::vector<Outcome> offer_many(Link& link, int packets, Duration gap, std::size_t bytes = 1472) {
  std::vector<Outcome> outcomes;
  Timestamp now = at(1ms);
  for (int i = 0; i < packets; ++i, now += gap) outcomes.push_back(link.offer(now, bytes, kHeader));
  return outcomes;
}

/// What LinkStats::reordered says, by definition: packets that arrive after a later one, O(n²).
std::uint64_t overtaken(const std::vector<Outcome>& outcomes) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].copies == 0) continue;
    for (std::size_t j = i + 1; j < outcomes.size(); ++j) {
      if (outcomes[j].copies > 0 &&
          outcomes[j].deliveries[0].arrival < outcomes[i].deliveries[0].arrival) {
        ++count;
        break;
      }
    }
  }
  return count;
}

TEST(Link, DeliversAfterServiceAndPropagation) {
  Link link(1, {.rate_bps = 1'000'000'000, .propagation = 25ms});
  const Outcome outcome = link.offer(at(1s), 1472, kHeader);
  EXPECT_EQ(outcome.fate, Fate::delivered);
  EXPECT_EQ(outcome.copies, 1);
  EXPECT_EQ(outcome.corruption, 0u);
  EXPECT_EQ(outcome.deliveries[0].arrival, at(1s + 25ms + 12304ns));  // (1500 + 38) bytes × 8
}

TEST(Link, RateOfALongRunIsExact) {
  constexpr std::uint64_t kRate = 9'876'543'211;
  Link link(1, {.rate_bps = kRate});
  const auto outcomes = offer_many(link, 500'000, 1ns);
  const double seconds =
      std::chrono::duration<double>(outcomes.back().deliveries[0].arrival - at(1ms)).count();
  const double rate = 500'000.0 * 1538 * 8 / seconds;
  EXPECT_NEAR(rate / static_cast<double>(kRate), 1.0, 1e-6);
}

TEST(Link, DropsWhatTheQueueCannotHoldAndCountsIt) {
  Link link(1, {.rate_bps = 1'000'000'000, .queue_bytes = 100 * 1538});
  const auto outcomes = offer_many(link, 200, 0ns);
  EXPECT_EQ(link.stats().delivered, 101u);  // one in service, a hundred waiting
  EXPECT_EQ(link.stats().queue_dropped, 99u);
  EXPECT_EQ(link.stats().queue_bytes_max, 100u * 1538);
  EXPECT_EQ(outcomes[100].fate, Fate::delivered);
  EXPECT_EQ(outcomes[101].fate, Fate::queue_dropped);
  EXPECT_EQ(outcomes[101].copies, 0);
}

TEST(Link, OverloadDropsTheShareThatDoesNotFit) {
  Link link(1, {.rate_bps = 1'000'000'000, .queue_bytes = 50 * 1538});
  offer_many(link, 100'000, 8203ns);  // 1.5 times the rate
  const LinkStats stats = link.stats();
  EXPECT_NEAR(static_cast<double>(stats.delivered), 100'000 * 8203.0 / 12304 + 50, 2);
  EXPECT_EQ(stats.wire_bytes, stats.delivered * 1538);
}

TEST(Link, LargerThanTheMtuVanishes) {
  Link link(1, {.mtu = 1500});
  EXPECT_EQ(link.offer(at(0ns), 1472, kHeader).fate, Fate::delivered);
  EXPECT_EQ(link.offer(at(0ns), 1473, kHeader).fate, Fate::too_big);
  EXPECT_EQ(link.offer(at(0ns), 1452, 48).fate, Fate::delivered);
  EXPECT_EQ(link.offer(at(0ns), 1453, 48).fate, Fate::too_big);
  EXPECT_EQ(link.stats().too_big, 2u);
}

TEST(Link, JitterStaysInItsBoundsAndIsUniform) {
  Link link(9, {.propagation = 10ms, .jitter = 1ms, .jitter_reorders = true});
  constexpr int kPackets = 200'000;
  Timestamp now{};
  double sum = 0;
  Duration least = 1h;
  Duration most{0};
  for (int i = 0; i < kPackets; ++i, now += 10us) {
    const Duration extra = link.offer(now, 100, kHeader).deliveries[0].arrival - now - 10ms;
    least = std::min(least, extra);
    most = std::max(most, extra);
    sum += static_cast<double>(extra.count());
  }
  EXPECT_GE(least, 0ns);
  EXPECT_LT(least, 100ns);
  EXPECT_LE(most, 1ms);
  EXPECT_GT(most, 999'900ns);
  EXPECT_NEAR(sum / kPackets, 5e5, 3.29 * 1e6 / std::sqrt(12.0 * kPackets));
}

TEST(Link, JitterWithoutReorderingKeepsTheOrder) {
  Link link(9, {.propagation = 10ms, .jitter = 5ms});
  Timestamp now{};
  Timestamp last{};
  for (int i = 0; i < 100'000; ++i, now += 12us) {
    const Delivery delivery = link.offer(now, 1472, kHeader).deliveries[0];
    ASSERT_TRUE(delivery.in_order);
    ASSERT_GE(delivery.arrival, last);
    ASSERT_LE(delivery.arrival, now + 15ms);
    last = delivery.arrival;
  }
  EXPECT_EQ(link.stats().reordered, 0u);
}

TEST(Link, CountsExactlyThePacketsThatWereOvertakenByJitter) {
  Link link(3, {.propagation = 1ms, .jitter = 500us, .jitter_reorders = true, .loss = 0.05});
  const auto outcomes = offer_many(link, 3000, 12us);
  EXPECT_GT(link.stats().reordered, 1000u);
  EXPECT_EQ(link.stats().reordered, overtaken(outcomes));
}

TEST(Link, HoldsBackTheChosenShareAndOnlyThat) {
  Link link(4, {.propagation = 1ms, .reorder_probability = 0.03, .reorder_delay = 200us});
  const auto outcomes = offer_many(link, 20'000, 10us);
  int held = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Timestamp sent = at(1ms) + 10us * static_cast<std::int64_t>(i);
    const Delivery& delivery = outcomes[i].deliveries[0];
    ASSERT_EQ(delivery.arrival, sent + (delivery.in_order ? 1000us : 1200us));
    held += delivery.in_order ? 0 : 1;
  }
  EXPECT_NEAR(held, 20'000 * 0.03, margin(20'000, 0.03));
  EXPECT_EQ(link.stats().reordered, overtaken(outcomes));
}

TEST(Link, DuplicatesAndCorruptsTheConfiguredShare) {
  Link link(6, {.propagation = 1ms, .duplicate = 0.02, .corrupt = 0.05});
  constexpr int kPackets = 500'000;
  const auto outcomes = offer_many(link, kPackets, 1us);
  const LinkStats stats = link.stats();
  EXPECT_NEAR(static_cast<double>(stats.duplicated), kPackets * 0.02, margin(kPackets, 0.02));
  EXPECT_NEAR(static_cast<double>(stats.corrupted), kPackets * 0.05, margin(kPackets, 0.05));
  EXPECT_EQ(stats.delivered, kPackets + stats.duplicated);
  std::uint64_t twice = 0;
  std::uint64_t damaged = 0;
  for (const Outcome& outcome : outcomes) {
    twice += outcome.copies == 2 ? 1u : 0u;
    damaged += outcome.corruption != 0 ? 1u : 0u;
  }
  EXPECT_EQ(twice, stats.duplicated);
  EXPECT_EQ(damaged, stats.corrupted);
}

TEST(Link, NothingPassesWhileItIsDown) {
  const LinkConfig config{
      .propagation = 10ms,
      .down = {{at(30ms), at(40ms)}, {at(10ms), at(20ms)}, {at(15ms), at(22ms)}}};
  Link link(1, config);
  for (Duration time = 0ms; time < 50ms; time += 100us) {
    const bool down = (time >= 10ms && time < 22ms) || (time >= 30ms && time < 40ms);
    ASSERT_EQ(link.offer(at(time), 100, kHeader).fate, down ? Fate::down_dropped : Fate::delivered)
        << time.count();
  }
  EXPECT_EQ(link.stats().down_dropped, 220u);
}

TEST(Link, DownTimeCatchesWhatIsInTheQueueWhenItsTurnComes) {
  // One packet takes 12.3 ms; the third leaves at 36.9 ms.
  Link link(1, {.rate_bps = 1'000'000, .down = {{at(30ms), at(40ms)}}});
  EXPECT_EQ(link.offer(at(0ms), 1472, kHeader).fate, Fate::delivered);
  EXPECT_EQ(link.offer(at(0ms), 1472, kHeader).fate, Fate::delivered);
  EXPECT_EQ(link.offer(at(0ms), 1472, kHeader).fate, Fate::down_dropped);
  EXPECT_EQ(link.offer(at(0ms), 1472, kHeader).fate, Fate::delivered);
}

TEST(Link, EveryOfferedPacketIsAccountedFor) {
  const LinkConfig config{.rate_bps = 100'000'000,
                          .propagation = 5ms,
                          .jitter = 1ms,
                          .jitter_reorders = true,
                          .queue_bytes = 30'000,
                          .mtu = 1400,
                          .loss = 0.01,
                          .burst = {.good_to_bad = 0.001, .bad_to_good = 0.1},
                          .duplicate = 0.01,
                          .corrupt = 0.01,
                          .down = {{at(500ms), at(600ms)}}};
  Link link(12, config);
  Timestamp now{};
  base::Random random(2);
  for (int i = 0; i < 100'000; ++i, now += 40us) link.offer(now, random.below(1500), kHeader);
  const LinkStats s = link.stats();
  EXPECT_EQ(s.offered, 100'000u);
  EXPECT_EQ(s.delivered - s.duplicated + s.too_big + s.queue_dropped + s.down_dropped + s.lost,
            s.offered);
  for (const std::uint64_t count : {s.too_big, s.queue_dropped, s.down_dropped, s.lost,
                                    s.duplicated, s.corrupted, s.reordered}) {
    EXPECT_GT(count, 0u);
  }
}

TEST(Link, EqualSeedsGiveEqualOutcomesAndOthersDoNot) {
  const LinkConfig config{.jitter = 1ms, .jitter_reorders = true, .loss = 0.1};
  Link a(5, config);
  Link b(5, config);
  Link c(6, config);
  int different = 0;
  for (int i = 0; i < 1000; ++i) {
    const Outcome x = a.offer(at(1us * i), 100, kHeader);
    const Outcome y = b.offer(at(1us * i), 100, kHeader);
    const Outcome z = c.offer(at(1us * i), 100, kHeader);
    ASSERT_EQ(x.fate, y.fate);
    ASSERT_EQ(x.deliveries[0].arrival, y.deliveries[0].arrival);
    different += x.deliveries[0].arrival != z.deliveries[0].arrival ? 1 : 0;
  }
  EXPECT_GT(different, 900);
}

TEST(Link, ChangeAppliesToLaterPacketsOnly) {
  Link link(1, {.propagation = 50ms});
  EXPECT_EQ(link.offer(at(0ms), 100, kHeader).deliveries[0].arrival, at(50ms));
  link.configure({.propagation = 10ms});
  EXPECT_EQ(link.offer(at(1ms), 100, kHeader).deliveries[0].arrival, at(11ms));
  EXPECT_EQ(link.stats().offered, 2u);
}

TEST(Link, NoArrivalUndercutsTheEarliestOne) {
  const LinkConfig config{.rate_bps = 1'000'000'000,
                          .propagation = 1ms,
                          .jitter = 100us,
                          .jitter_reorders = true,
                          .reorder_probability = 0.1,
                          .reorder_delay = 1ms};
  Link link(8, config);
  Timestamp now{};
  base::Random random(3);
  for (int i = 0; i < 20'000; ++i) {
    now += Duration{static_cast<std::int64_t>(random.below(20'000))};
    const std::size_t bytes = random.below(1472);
    const Timestamp bound = link.earliest_arrival(now, bytes, kHeader);
    ASSERT_LE(bound, link.offer(now, bytes, kHeader).deliveries[0].arrival);
  }
}

}  // namespace
}  // namespace longhaul::netmodel
