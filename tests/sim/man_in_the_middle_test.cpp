// SPDX-License-Identifier: Apache-2.0
// The checks of the man in the middle, with faults planted that each must find.
#include <gtest/gtest.h>

#include "tests/sim/man_in_the_middle_play.hpp"

namespace longhaul::simtest {
namespace {

// One whose habits are bound by every promise.
std::uint64_t strict_seed() {
  for (std::uint64_t seed = 1;; ++seed) {
    const MitmScenario scenario = random_mitm(seed);
    const Order& first = scenario.orders.front();
    if (scenario.habits.rate <= 0.05 && scenario.speaks_only && !first.send.deadline &&
        !first.receive.deadline)
      return seed;
  }
}

TEST(ManInTheMiddle, a_seed_holds_and_a_planted_fault_does_not) {
  const MitmScenario scenario = random_mitm(strict_seed());
  EXPECT_TRUE(play_mitm(scenario, Plant::nothing, false).empty());
  struct Case {
    const char* plant;
    const char* words;
  };
  for (const Case& one : {Case{"byte", "wrong bytes"}, Case{"close", "connection ended"},
                          Case{"slow", "ms instead of"}, Case{"memory", "heap grew"}}) {
    const auto findings = play_mitm(scenario, plant_called(one.plant), false);
    ASSERT_FALSE(findings.empty()) << one.plant;
    EXPECT_NE(findings.front().find(one.words), std::string::npos)
        << one.plant << " was found as: " << findings.front();
  }
}

TEST(ManInTheMiddle, seeds_reach_every_trick_and_kind_of_line) {
  std::array<bool, kTricks> tricks{};
  bool certificates = false;
  bool key = false;
  bool few = false;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const MitmScenario scenario = random_mitm(seed);
    for (std::size_t i = 0; i < kTricks; ++i)
      tricks[i] = tricks[i] || scenario.habits.weights[i] > 0;
    certificates = certificates || scenario.certificates;
    key = key || !scenario.certificates;
    few = few || (scenario.habits.rate <= 0.05 && !scenario.speaks_only);
  }
  EXPECT_EQ(std::count(tricks.begin(), tricks.end(), true), std::ssize(tricks));
  EXPECT_TRUE(certificates && key && few);
}

}  // namespace
}  // namespace longhaul::simtest
