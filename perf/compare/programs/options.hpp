// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace longhaul::compare {

enum class Mode : std::uint8_t {
  serve,    ///< take messages, answer each with one byte
  message,  ///< one message at a time
  stream,   ///< many outstanding, for a time
};

/// What every rival's program is told alike.
struct Options {
  Mode mode = Mode::serve;
  std::string address = "127.0.0.1";
  std::uint16_t port = 5201;
  std::uint64_t size = 16u << 20;  ///< bytes of a message
  std::uint64_t outstanding = 1;   ///< messages sent and not answered, at most
  std::uint64_t buffer = 25'000'000;
  std::uint64_t count = 25;   ///< message: completions wanted
  std::uint64_t warm_up = 2;  ///< message: first ones left out
  double seconds = 12;        ///< message: begin none later; stream: how long
  double omit = 3;            ///< stream: first seconds left out
  double deadline = 20;       ///< message: give up one that is older unanswered
};

/// Subcommands serve, message and stream with the common options; `app` keeps references into
/// `options`, which has to outlive it.
void add_common_options(CLI::App& app, Options& options);

}  // namespace longhaul::compare
