// SPDX-License-Identifier: Apache-2.0
// sim_mitm: seeds of the man in the middle, each in a process of its own, so that a crash or an
// endless loop is a finding like any other.
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <span>
#include <string_view>

#include "tests/sim/man_in_the_middle_play.hpp"

namespace longhaul::simtest {
namespace {

constexpr unsigned kSecondsMax = 120;  // a seed takes below a second

constexpr const char* kUsage =
    "usage: sim_mitm [--verbose] [--plant WHAT] [FIRST_SEED [HOW_MANY]]\n"
    "seeds 1 to 200 by default; of a seed alone with --verbose it says what happened\n"
    "--plant byte, close, slow or memory: a fault that has to be found, for tests of this "
    "program\n";

struct Options {
  bool verbose = false;
  Plant plant = Plant::nothing;
  std::string planted{};
  std::uint64_t first = 1;
  std::uint64_t count = 200;
};

[[noreturn]] void play_and_exit(std::uint64_t seed, const Options& options) {
  ::alarm(kSecondsMax);
  int code = 0;
  try {
    for (const std::string& finding :
         play_mitm(random_mitm(seed), options.plant, options.verbose)) {
      code = 1;
      fmt::print("  {}\n", finding);
    }
  } catch (const std::exception& error) {
    fmt::print("  {}\n", error.what());
    code = 1;
  }
  std::fflush(stdout);
  ::_exit(code);
}

bool fails(std::uint64_t seed, const Options& options) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) play_and_exit(seed, options);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    fmt::print("  ended by signal {}{}\n", WTERMSIG(status),
               WTERMSIG(status) == SIGALRM ? ": no end in sight" : "");
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int sweep(const Options& options) {
  std::uint64_t failed = 0;
  for (std::uint64_t seed = options.first; seed < options.first + options.count; ++seed) {
    if (!fails(seed, options)) continue;
    ++failed;
    fmt::print("seed {}: reproduce with: sim_mitm {}{}\n", seed,
               options.planted.empty() ? "" : "--plant " + options.planted + " ", seed);
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
    if (argument == "--verbose") {
      options.verbose = true;
    } else if (argument == "--plant") {
      if (++i == arguments.size()) throw std::runtime_error("--plant needs a word");
      options.planted = arguments[i];
      options.plant = plant_called(options.planted);
    } else {
      if (positional == 2) throw std::runtime_error("too many arguments");
      if (positional == 0) options.count = 1;
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
    return sweep(parse(std::span(argv, static_cast<std::size_t>(argc)).subspan(1)));
  } catch (const std::exception& error) {
    fmt::print(stderr, "sim_mitm: {}\n{}", error.what(), kUsage);
    return 2;
  }
}
