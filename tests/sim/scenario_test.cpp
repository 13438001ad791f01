// SPDX-License-Identifier: Apache-2.0
// Every scenario of the tables, played twice; and the canary, which guards the checkers.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/sim/checks.hpp"
#include "tests/sim/scenarios/tables.hpp"

namespace longhaul::simtest {

using base::PayloadMode;

namespace {

class Scenarios : public testing::TestWithParam<Scenario> {};

void expect_none(const std::vector<std::string>& violations) {
  for (const std::string& line : violations) ADD_FAILURE() << line;
}

TEST_P(Scenarios, HoldTwiceWithOneTrace) {
  const Scenario& scenario = GetParam();
  const bool payload = scenario.modes != Modes::reference_twice;
  const Outcome first = play(scenario, payload ? PayloadMode::bytes : PayloadMode::reference);
  expect_none(violations(scenario, first));
  fmt::print("{}\n", figures(scenario, first));
  const bool bytes_again = scenario.modes == Modes::bytes_twice;
  const Outcome again = play(scenario, bytes_again ? PayloadMode::bytes : PayloadMode::reference);
  EXPECT_EQ(first.trace_hash, again.trace_hash)
      << "the second run, " << (bytes_again == payload ? "just the same" : "in the other mode")
      << ", left another trace";
  if (scenario.expect.goodput_min > 0) {
    Scenario undisturbed = scenario;
    undisturbed.changes.clear();
    expect_none(goodput_violations(scenario, first, play(undisturbed, PayloadMode::reference)));
  }
}

std::string name_of(const testing::TestParamInfo<Scenario>& info) {
  return std::string(info.param.name);
}

INSTANTIATE_TEST_SUITE_P(Loss, Scenarios, testing::ValuesIn(loss_table()), name_of);
INSTANTIATE_TEST_SUITE_P(Order, Scenarios, testing::ValuesIn(order_table()), name_of);
INSTANTIATE_TEST_SUITE_P(Path, Scenarios, testing::ValuesIn(path_table()), name_of);
INSTANTIATE_TEST_SUITE_P(Workload, Scenarios, testing::ValuesIn(workload_table()), name_of);
INSTANTIATE_TEST_SUITE_P(Ending, Scenarios, testing::ValuesIn(ending_table()), name_of);
INSTANTIATE_TEST_SUITE_P(Control, Scenarios, testing::ValuesIn(control_table()), name_of);

// Must fail in every way a checker looks for: each of its expectations is impossible.
Scenario canary() {
  using std::chrono::milliseconds;
  Scenario scenario{
      .name = "canary",
      .line = {.rate_bps = 1'000'000'000, .rtt = milliseconds(10), .mtu = 1500},
      .there = {.loss = 0.02},
      .back = {.reorder_probability = 1e-18,
               .loss = 1e-18,
               .duplicate = 1e-18,
               .corrupt = 1e-18,
               .down = {{Timestamp{} + milliseconds(2000), Timestamp{} + milliseconds(2001)}}},
      .modes = Modes::bytes_twice,
      .loads = {{.bytes = kMiB, .sender = Status::cancelled}},
      .sabotage = true};
  scenario.expect = {.completion_max = 0.5,
                     .packets_max = 0.5,
                     .retransmitted_max = 0,
                     .all_ended_by = milliseconds(1),
                     .resume = Resume{.down_at = milliseconds(100),
                                      .up_at = milliseconds(200),
                                      .first_byte_within = milliseconds(1)},
                     .max_datagram = 9999,
                     .black_holes = 7,
                     .migrations_min = 1,
                     .limited_by_receiver_min = std::chrono::hours(1),
                     .dropped = DropReason::invalid_token};
  return scenario;
}

TEST(Canary, IsCaughtByEveryChecker) {
  const Scenario scenario = canary();
  Outcome outcome = play(scenario, PayloadMode::bytes);
  outcome.heap_allowed = 0;
  const std::vector<std::string> found = violations(scenario, outcome);
  for (const char* what :
       {"the send ended with completed, not cancelled", "the receiver's memory differs",
        "completion took", "the client sent", "were sent again", "the last request ended",
        "the first byte came", "four RTTs carried", "PLPMTU is", "black holes were seen",
        "migrations", "accounted to the receiver", "counted no drop", "the heap grew"}) {
    EXPECT_TRUE(std::ranges::any_of(
        found, [&](const std::string& line) { return line.find(what) != std::string::npos; }))
        << "no checker said: " << what;
  }
}

TEST(Canary, OfALossBudgetIsCaught) {
  Scenario scenario{.loads = {{.send = {.reliability = Reliability::bounded_loss}}}};
  Outcome outcome;
  outcome.requests.push_back({.receiver = Status::completed_partial, .bytes_missing = 1});
  const std::vector<std::string> found = violations(scenario, outcome);
  EXPECT_TRUE(std::ranges::any_of(found, [](const std::string& line) {
    return line.find("1 bytes are missing") != std::string::npos;
  }));
}

TEST(Canary, OfFaultsThatNeverStruckIsCaught) {
  const netmodel::LinkConfig faults{
      .reorder_probability = 0.02,
      .loss = 0.02,
      .duplicate = 0.02,
      .corrupt = 0.02,
      .down = {{Timestamp{}, Timestamp{} + std::chrono::milliseconds(1)}}};
  const Scenario scenario{.there = faults, .back = faults};
  Outcome outcome;
  outcome.there.offered = outcome.back.offered = 499;  // a strike back is not certain enough
  EXPECT_EQ(violations(scenario, outcome).size(), 6u);
  outcome.back.offered = 500;
  EXPECT_EQ(violations(scenario, outcome).size(), 10u);
  for (netmodel::LinkStats* stats : {&outcome.there, &outcome.back}) {
    stats->lost = stats->corrupted = stats->duplicated = stats->reordered = 1;
    stats->down_dropped = 1;
  }
  EXPECT_TRUE(violations(scenario, outcome).empty());
}

TEST(Canary, OfTheGoodputIsCaught) {
  const Scenario scenario{.expect = {.goodput_min = 0.95}};
  Outcome slow;
  slow.completion = std::chrono::milliseconds(200);
  Outcome fast;
  fast.completion = std::chrono::milliseconds(180);
  EXPECT_EQ(goodput_violations(scenario, slow, fast).size(), 1u);
  EXPECT_TRUE(goodput_violations(scenario, fast, fast).empty());
}

TEST(Canary, AnotherSeedLeavesAnotherTrace) {
  Scenario scenario = canary();
  scenario.sabotage = false;
  const Outcome first = play(scenario, PayloadMode::bytes);
  scenario.seed = 2;
  EXPECT_NE(first.trace_hash, play(scenario, PayloadMode::bytes).trace_hash);
}

}  // namespace
}  // namespace longhaul::simtest
