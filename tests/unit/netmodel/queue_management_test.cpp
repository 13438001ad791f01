// SPDX-License-Identifier: Apache-2.0
// The policer, and RED with and without marks.
#include <gtest/gtest.h>

#include <cmath>

#include "lib/netmodel/link.hpp"
#include "lib/netmodel/random_early_detection.hpp"
#include "lib/netmodel/token_bucket.hpp"

namespace longhaul::netmodel {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kHeader = 28;
constexpr std::size_t kPayload = 1472;
constexpr std::uint64_t kWire = 1538;

constexpr Timestamp at(Duration time) {
  return Timestamp{} + time;
}
double margin(double n, double p) {
  return 3.29 * std::sqrt(n * p * (1 - p));
}

TEST(TokenBucket, PassesItsBurstAtOnceAndThenItsRateExactly) {
  TokenBucket bucket;
  bucket.configure({.rate_bps = 8'000'000'000, .burst_bytes = 5000}, at(0ns));  // a byte a ns
  EXPECT_TRUE(bucket.take(at(0ns), 3000));
  EXPECT_FALSE(bucket.take(at(0ns), 2001));  // takes nothing
  EXPECT_TRUE(bucket.take(at(0ns), 2000));
  EXPECT_FALSE(bucket.take(at(999ns), 1000));
  EXPECT_TRUE(bucket.take(at(1000ns), 1000));
  EXPECT_FALSE(bucket.take(at(1000ns), 1));
  // However long the pause, no more than the burst.
  EXPECT_FALSE(bucket.take(at(100h), 5001));
  EXPECT_TRUE(bucket.take(at(100h), 5000));
  EXPECT_FALSE(bucket.take(at(100h), 1));
}

TEST(TokenBucket, LosesNoFractionOfATokenOverALongRun) {
  constexpr std::uint64_t kRate = 9'876'543;
  TokenBucket bucket;
  bucket.configure({.rate_bps = kRate, .burst_bytes = 4000}, at(0ns));
  std::uint64_t passed = 0;
  for (Duration time = 0ns; time <= 100s; time += 31us) {
    if (bucket.take(at(time), kWire)) passed += kWire;
  }
  // A bucket that is never full when one more packet would fit passes burst + rate × time.
  EXPECT_NEAR(static_cast<double>(passed), 4000 + kRate * 100.0 / 8, kWire + 40.0);
}

TEST(TokenBucket, AChangeKeepsTheTokensThatFit) {
  TokenBucket bucket;
  bucket.configure({.rate_bps = 8'000, .burst_bytes = 5000}, at(0ns));
  EXPECT_TRUE(bucket.take(at(0ns), 1000));
  bucket.configure({.rate_bps = 8'000, .burst_bytes = 3000}, at(0ns));
  EXPECT_FALSE(bucket.take(at(0ns), 3001));
  EXPECT_TRUE(bucket.take(at(0ns), 3000));
  bucket.configure({}, at(0ns));
  EXPECT_TRUE(bucket.take(at(0ns), 1'000'000));
}

TEST(RedHits, ProbabilityRisesLinearlyBetweenTheThresholds) {
  const RandomEarlyDetection red{.min_bytes = 10'000, .max_bytes = 30'000, .probability = 0.2};
  base::Random random(11);
  constexpr int kPackets = 400'000;
  for (const std::uint64_t waiting : {12'000u, 20'000u, 28'000u}) {
    const double p = 0.2 * static_cast<double>(waiting - 10'000) / 20'000;
    int hits = 0;
    for (int i = 0; i < kPackets; ++i) hits += red_hits(red, waiting, random) ? 1 : 0;
    EXPECT_NEAR(hits, kPackets * p, margin(kPackets, p)) << waiting;
  }
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(red_hits(red, 10'000, random));
    ASSERT_TRUE(red_hits(red, 30'000, random));
  }
}

TEST(RedHits, DrawsNothingOutsideTheThresholds) {
  const RandomEarlyDetection red{.min_bytes = 10'000, .max_bytes = 30'000};
  base::Random used(5);
  base::Random fresh(5);
  red_hits(red, 0, used);
  red_hits(red, 10'000, used);
  red_hits(red, 30'000, used);
  EXPECT_EQ(used.next(), fresh.next());
}

TEST(Link, PolicesToTheRateWhateverIsOffered) {
  const LinkConfig config{.policer = {.rate_bps = 100'000'000, .burst_bytes = 20 * kWire}};
  Link link(1, config);
  constexpr int kPackets = 100'000;  // at 1 Gbit/s
  for (int i = 0; i < kPackets; ++i) link.offer(at(12304ns * i), kPayload, kHeader);
  const LinkStats stats = link.stats();
  EXPECT_NEAR(static_cast<double>(stats.delivered), kPackets / 10.0 + 20 * 0.9, 5);
  EXPECT_EQ(stats.policed + stats.delivered, stats.offered);
  EXPECT_EQ(stats.wire_bytes, stats.delivered * kWire);
}

/// Twice the rate for a second: the queue settles where RED hits every other packet.
LinkStats overloaded(bool ecn, bool ecn_capable) {
  const LinkConfig config{
      .rate_bps = 100'000'000,
      .queue_bytes = 400'000,
      .red = {.min_bytes = 50'000, .max_bytes = 250'000, .probability = 1, .ecn = ecn}};
  Link link(3, config);
  for (int i = 0; i < 16'000; ++i) {
    const Outcome outcome = link.offer(at(61520ns * i), kPayload, kHeader, ecn_capable);
    EXPECT_FALSE(outcome.congestion_experienced && !(ecn && ecn_capable));
    EXPECT_FALSE(outcome.congestion_experienced && outcome.fate != Fate::delivered);
  }
  return link.stats();
}

TEST(Link, RedHoldsTheQueueBetweenItsThresholdsByDropping) {
  for (const bool ecn : {false, true}) {
    const LinkStats stats = overloaded(ecn, false);
    EXPECT_EQ(stats.queue_dropped, 0u);
    EXPECT_EQ(stats.ecn_marked, 0u);
    EXPECT_NEAR(static_cast<double>(stats.red_dropped), 8000, 200);
    EXPECT_LT(stats.queue_bytes_max, 250'000 + kWire);
    EXPECT_EQ(stats.delivered + stats.red_dropped, stats.offered);
  }
}

TEST(Link, RedMarksWhatIsEcnCapableAndLeavesTheRestToTheQueue) {
  const LinkStats stats = overloaded(true, true);
  EXPECT_EQ(stats.red_dropped, 0u);
  EXPECT_GT(stats.ecn_marked, 7000u);
  EXPECT_GT(stats.queue_dropped, 7000u);
  EXPECT_EQ(stats.delivered + stats.queue_dropped, stats.offered);
  const LinkStats without = overloaded(false, true);
  EXPECT_EQ(without.ecn_marked, 0u);
  EXPECT_GT(without.red_dropped, 7000u);
}

TEST(Link, EffectsThatAreOffLeaveTheRandomNumbersAlone) {
  const LinkConfig plain{.jitter = 1ms, .jitter_reorders = true, .loss = 0.1};
  LinkConfig guarded = plain;
  guarded.policer = {.rate_bps = 1'000'000'000'000, .burst_bytes = 1'000'000};
  guarded.red = {.min_bytes = 1'000'000, .max_bytes = 2'000'000};
  Link a(5, plain);
  Link b(5, guarded);
  for (int i = 0; i < 1000; ++i) {
    const Outcome x = a.offer(at(1us * i), 100, kHeader, true);
    const Outcome y = b.offer(at(1us * i), 100, kHeader, true);
    ASSERT_EQ(x.fate, y.fate);
    ASSERT_EQ(x.deliveries[0].arrival, y.deliveries[0].arrival);
  }
}

}  // namespace
}  // namespace longhaul::netmodel
