// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "perf/compare/programs/ends.hpp"
#include "perf/compare/programs/options.hpp"

namespace longhaul::compare {

/// What makes a program of a rival.
struct Rival {
  std::string program;      ///< "compare-tcp"
  std::string description;  ///< one line of --help
  std::function<void(CLI::App&)> add_options;
  /// Both throw std::runtime_error with a line that names cause and remedy.
  std::function<std::unique_ptr<Sender>(const Options&)> connect;
  std::function<std::unique_ptr<Receiver>(const Options&)> listen;
};

/// The whole of main(). A client prints one line of JSON: what its test says, cpu_seconds since it
/// was connected, about, counters. A server prints `ready`, and at its end (the client left,
/// SIGTERM or SIGINT) one line of JSON: messages, bytes, cpu_seconds since the client came. Ends
/// the process itself, with 0, or 1 after a line on stderr.
int run_program(int argc, char** argv, const Rival& rival);

}  // namespace longhaul::compare
