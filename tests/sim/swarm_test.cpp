// SPDX-License-Identifier: Apache-2.0
// The swarm's own tools: scenarios as text, and what cuts them down.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "tests/sim/checks.hpp"
#include "tests/sim/swarm_scenario.hpp"
#include "tests/sim/swarm_shrink.hpp"

namespace longhaul::simtest {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string error_of(std::string_view line) {
  try {
    (void)from_line(line);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SwarmLine, says_everything_a_random_scenario_has) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Scenario original = random_scenario(seed);
    const std::string line = to_line(original);
    ASSERT_EQ(to_line(from_line(line)), line);
    if (seed % 60 != 0) continue;
    EXPECT_EQ(play(original, base::PayloadMode::reference).trace_hash,
              play(from_line(line), base::PayloadMode::reference).trace_hash)
        << line;
  }
}

TEST(SwarmLine, refuses_what_means_nothing_and_names_it) {
  EXPECT_THAT(error_of("load=bytes:1 colour=3"), HasSubstr("colour"));
  EXPECT_THAT(error_of("load=bytes:many"), HasSubstr("\"many\" is not a number"));
  EXPECT_THAT(error_of("seed=1"), HasSubstr("no load"));
  EXPECT_THAT(error_of("load=dtype:99"), HasSubstr("means nothing"));
  EXPECT_THAT(error_of("load= there.queue=100"), HasSubstr("queue below"));
  EXPECT_THAT(error_of("load= rate=1"), HasSubstr("rate below"));
  EXPECT_THAT(error_of("load= there.down=to_ms:9000"), HasSubstr("2 s"));
  EXPECT_THAT(error_of("load= change=what:7"), HasSubstr("the swarm has not"));
  EXPECT_EQ(error_of("load="), "accepted");
}

TEST(SwarmShrink, keeps_only_what_a_failure_needs) {
  const Fails needs = [](const std::string& line) {
    const Scenario scenario = from_line(line);
    return scenario.back.duplicate > 0.004 && scenario.loads.back().bytes >= 700;
  };
  std::uint64_t seed = 1;
  while (!needs(to_line(random_scenario(seed)))) ++seed;
  const Fails fails = [&](const std::string& line) {
    return error_of(line) == "accepted" && needs(line);
  };
  const std::string line = shrink(to_line(random_scenario(seed)), fails, 1000);
  EXPECT_TRUE(fails(line)) << line;
  EXPECT_TRUE(line == "back.duplicate=5 load=" || line.starts_with("back.duplicate=")) << line;
  EXPECT_EQ(std::ranges::count(line, ' '), 1) << line;
}

TEST(SwarmShrink, gives_up_after_so_many_runs) {
  unsigned runs = 0;
  const auto fails = [&](const std::string&) { return ++runs, false; };
  const std::string line = to_line(random_scenario(3));
  EXPECT_EQ(shrink(line, fails, 10), line);
  EXPECT_EQ(runs, 10u);
}

// A fault planted in what is demanded: that nothing is ever sent twice fails wherever something is
// lost, so what is left has to be a loss and a load.
TEST(SwarmShrink, finds_the_loss_behind_a_retransmission) {
  const Fails fails = [](const std::string& line) {
    if (error_of(line) != "accepted") return false;
    Scenario scenario = from_line(line);
    scenario.expect.retransmitted_max = 0;
    return !violations(scenario, play(scenario, base::PayloadMode::reference)).empty();
  };
  const std::string original =
      "seed=9 rate=1000000000 rtt_us=900 mtu=1500 settle_ms=40 there.loss=60 there.duplicate=30 "
      "back.jitter_us=200 load=bytes:200000,dtype:5,parts:3,send_ms:20 load=way:1,bytes:90000 "
      "change=at_ms:100,what:3";
  ASSERT_TRUE(fails(original));
  const std::string line = shrink(original, fails, 300);
  EXPECT_TRUE(fails(line)) << line;
  EXPECT_THAT(line, HasSubstr("there.loss="));
  for (const char* idle : {"duplicate", "jitter", "change", "way", "dtype", "send_ms"})
    EXPECT_THAT(line, Not(HasSubstr(idle)));
}

struct Ran {
  int status = -1;
  std::string output;
};

Ran run_swarm(const std::string& arguments) {
  Ran ran;
  FILE* pipe = ::popen((LONGHAUL_SIM_SWARM " " + arguments).c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) ran.output += buffer.data();
  const int ended = ::pclose(pipe);
  ran.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
  return ran;
}

// The whole program: a seed that fails is cut down, and the line it prints fails again.
TEST(SwarmProgram, prints_a_line_that_repeats_a_planted_fault) {
  const Ran swept = run_swarm("--plant 1 1");
  EXPECT_EQ(swept.status, 1) << swept.output;
  const std::string announced = "reproduce with: sim_swarm ";
  const std::size_t at = swept.output.find(announced);
  ASSERT_NE(at, std::string::npos) << swept.output;
  const std::string command = swept.output.substr(at + announced.size());
  const std::string arguments = command.substr(0, command.find('\n'));
  EXPECT_LT(arguments.size(), 100u) << arguments;
  const Ran again = run_swarm(arguments);
  EXPECT_EQ(again.status, 1) << again.output;
  EXPECT_THAT(again.output, HasSubstr("sent again"));
  const Ran without = run_swarm(arguments.substr(arguments.find("--reproduce")));
  EXPECT_EQ(without.status, 0) << "without the planted fault it holds: " << without.output;
}

TEST(SwarmProgram, refuses_what_it_cannot_read) {
  EXPECT_EQ(run_swarm("--reproduce seed=1 2>&1").status, 2);
  EXPECT_EQ(run_swarm("one 2>&1").status, 2);
  EXPECT_THAT(run_swarm("--reproduce load=x:1 2>&1").output, HasSubstr("usage:"));
}

}  // namespace
}  // namespace longhaul::simtest
