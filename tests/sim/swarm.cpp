// SPDX-License-Identifier: Apache-2.0
// Random scenarios: whatever the line does, as long as the peers hear of each other now and then
// everything completes with the right bytes, and both payload modes leave one trace. Each runs in a
// process of its own, so that a crash or an endless loop is a finding like any other. What fails is
// cut down to one line.
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>

#include "tests/sim/checks.hpp"
#include "tests/sim/swarm_scenario.hpp"
#include "tests/sim/swarm_shrink.hpp"

namespace longhaul::simtest {
namespace {

constexpr unsigned kSecondsMax = 120;  // a seed takes below a second
constexpr unsigned kShrinkRuns = 300;

constexpr const char* kUsage =
    "usage: sim_swarm [--plant] [FIRST_SEED [HOW_MANY]]   seeds 1 to 200 by default\n"
    "       sim_swarm [--plant] --reproduce \"LINE\"        a scenario as a failure printed it\n"
    "--plant demands that nothing is ever sent twice, which fails wherever something is lost: "
    "for tests of this program\n";

struct Options {
  bool plant = false;
  std::optional<std::string> line{};
  std::uint64_t first = 1;
  std::uint64_t count = 200;
};

std::vector<std::string> findings(const std::string& line, bool plant) {
  Scenario scenario = from_line(line);
  if (plant) scenario.expect.retransmitted_max = 0;
  const Outcome first = play(scenario, base::PayloadMode::bytes);
  std::vector<std::string> found = violations(scenario, first);
  if (first.trace_hash != play(scenario, base::PayloadMode::reference).trace_hash)
    found.push_back("payload mode reference left another trace");
  return found;
}

enum class Exit { held = 0, failed = 1, meaningless = 2 };

// In the child: plays, and says what it found unless `quiet`.
[[noreturn]] void play_and_exit(const std::string& line, bool plant, bool quiet) {
  if (quiet && std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(2);
  ::alarm(kSecondsMax);
  Exit code = Exit::held;
  try {
    for (const std::string& finding : findings(line, plant)) {
      code = Exit::failed;
      if (!quiet) fmt::print("  {}\n", finding);
    }
  } catch (const std::exception& error) {
    if (!quiet) fmt::print("  {}\n", error.what());
    code = Exit::failed;
  }
  std::fflush(stdout);
  ::_exit(static_cast<int>(code));
}

bool fails(const std::string& line, bool plant, bool quiet) {
  try {
    (void)from_line(line);
  } catch (const std::exception&) {
    return false;
  }
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) play_and_exit(line, plant, quiet);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && !quiet)
    fmt::print("  ended by signal {}{}\n", WTERMSIG(status),
               WTERMSIG(status) == SIGALRM ? ": no end in sight" : "");
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

void report(std::uint64_t seed, const Options& options) {
  const std::string line = shrink(
      to_line(random_scenario(seed)),
      [&](const std::string& candidate) { return fails(candidate, options.plant, true); },
      kShrinkRuns);
  fmt::print("seed {}: reproduce with: sim_swarm {}--reproduce \"{}\"\n", seed,
             options.plant ? "--plant " : "", line);
  std::fflush(stdout);
}

int sweep(const Options& options) {
  std::uint64_t failed = 0;
  for (std::uint64_t seed = options.first; seed < options.first + options.count; ++seed) {
    if (!fails(to_line(random_scenario(seed)), options.plant, false)) continue;
    ++failed;
    fmt::print("seed {}: failed; cutting it down\n", seed);
    report(seed, options);
  }
  fmt::print("{} of {} seeds held\n", options.count - failed, options.count);
  return failed == 0 ? 0 : 1;
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw std::runtime_error(fmt::format("\"{}\" is not a number", text));
  return value;
}

Options parse(std::span<char*> arguments) {
  Options options;
  std::size_t positional = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--plant") {
      options.plant = true;
    } else if (argument == "--reproduce") {
      if (++i == arguments.size()) throw std::runtime_error("--reproduce needs a line");
      options.line = arguments[i];
    } else {
      if (positional == 2) throw std::runtime_error("too many arguments");
      (positional++ == 0 ? options.first : options.count) = number(argument);
    }
  }
  return options;
}

}  // namespace
}  // namespace longhaul::simtest

int main(int argc, char** argv) {
  using namespace longhaul::simtest;
  try {
    const Options options = parse(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
    if (!options.line) return sweep(options);
    (void)from_line(*options.line);  // says what is wrong with it
    const bool failed = fails(*options.line, options.plant, false);
    fmt::print("{}\n", failed ? "failed" : "held");
    return failed ? 1 : 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "sim_swarm: {}\n{}", error.what(), kUsage);
    return 2;
  }
}
