// SPDX-License-Identifier: Apache-2.0
#include "lib/netmodel/loss_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace longhaul::netmodel {
namespace {

// Half width of the 99.9 % interval of a binomial count.
double margin(double n, double p) {
  return 3.29 * std::sqrt(n * p * (1 - p));
}

class IndependentLoss : public testing::TestWithParam<double> {};

TEST_P(IndependentLoss, RateIsTheConfiguredOne) {
  const double p = GetParam();
  constexpr int kPackets = 2'000'000;
  LossModel model;
  model.configure(p, {});
  base::Random random(42);
  int lost = 0;
  for (int i = 0; i < kPackets; ++i) lost += model.lost(random) ? 1 : 0;
  EXPECT_NEAR(lost, kPackets * p, margin(kPackets, p));
}
INSTANTIATE_TEST_SUITE_P(Rates, IndependentLoss, testing::Values(1e-4, 1e-3, 0.02, 0.5));

TEST(LossModel, ZeroLosesNothingAndOneEverything) {
  base::Random random(1);
  LossModel model;
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(model.lost(random));
  model.configure(1, {});
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(model.lost(random));
}

struct Bursts {
  double count = 0;
  double lost = 0;
  double squares = 0;
};

Bursts bursts_of(const GilbertElliott& config, int packets) {
  LossModel model;
  model.configure(0, config);
  base::Random random(77);
  Bursts bursts;
  double length = 0;
  for (int i = 0; i < packets; ++i) {
    if (model.lost(random)) {
      length += 1;
    } else if (length > 0) {
      bursts.count += 1;
      bursts.lost += length;
      bursts.squares += length * length;
      length = 0;
    }
  }
  return bursts;
}

class BurstLength : public testing::TestWithParam<double> {};

TEST_P(BurstLength, MeanAndShareFollowGilbertElliott) {
  const double mean = GetParam();
  const GilbertElliott config{.good_to_bad = 1e-3, .bad_to_good = 1 / mean};
  constexpr int kPackets = 4'000'000;
  const Bursts bursts = bursts_of(config, kPackets);
  // Bursts are geometric: mean b, variance b(b − 1); adjacent ones do not merge, since leaving the
  // bad state takes at least one good packet.
  const double deviation = std::sqrt(mean * (mean - 1) / bursts.count);
  EXPECT_NEAR(bursts.lost / bursts.count, mean, 3.29 * deviation + 1e-9);
  // One cycle is a good phase of 1/g and a burst of b packets; counts of cycles are nearly normal.
  const double cycles = kPackets / (1 / config.good_to_bad + mean);
  EXPECT_NEAR(bursts.count, cycles, 3.29 * std::sqrt(cycles));
}
INSTANTIATE_TEST_SUITE_P(Means, BurstLength, testing::Values(1.0, 2.0, 10.0, 100.0));

TEST(LossModel, LosesInBothStatesWithTheirOwnProbability) {
  const GilbertElliott config{
      .good_to_bad = 0.02, .bad_to_good = 0.1, .loss_good = 0.01, .loss_bad = 0.4};
  LossModel model;
  model.configure(0, config);
  base::Random random(5);
  constexpr int kPackets = 2'000'000;
  double lost = 0;
  for (int i = 0; i < kPackets; ++i) lost += model.lost(random) ? 1 : 0;
  const double bad = config.good_to_bad / (config.good_to_bad + config.bad_to_good);
  const double p = bad * config.loss_bad + (1 - bad) * config.loss_good;
  // States last some ten packets, so the losses are correlated over about as many.
  EXPECT_NEAR(lost, kPackets * p, margin(kPackets, p) * std::sqrt(1 + 2 / 0.12));
}

TEST(LossModel, ABurstOutlivesAChangeOfTheProbabilities) {
  base::Random random(5);
  LossModel model;
  model.configure(0, {.good_to_bad = 1, .bad_to_good = 0});
  ASSERT_TRUE(model.lost(random));
  model.configure(0, {.good_to_bad = 1e-9, .bad_to_good = 0});
  EXPECT_TRUE(model.lost(random));
  model.configure(0, {});
  EXPECT_FALSE(model.lost(random));
}

}  // namespace
}  // namespace longhaul::netmodel
