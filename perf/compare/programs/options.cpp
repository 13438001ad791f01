// SPDX-License-Identifier: Apache-2.0
#include "perf/compare/programs/options.hpp"

#include <utility>

namespace longhaul::compare {

namespace {

// One stamp and one stripe a connection have to fit.
constexpr std::uint64_t kSizeMin = 4096;
constexpr std::uint64_t kSizeMax = std::uint64_t{1} << 32;
constexpr double kSecondsMax = 3600;

}  // namespace

void add_common_options(CLI::App& app, Options& options) {
  app.require_subcommand(1);
  // Options may stand behind the subcommand too.
  app.fallthrough();
  app.add_option("--address", options.address,
                 "IP address to listen on, or of the server (127.0.0.1)");
  app.add_option("--port", options.port, "TCP or UDP port (5201)");
  app.add_option("--size", options.size, "bytes of a message, the same at both ends (16777216)")
      ->check(CLI::Range(kSizeMin, kSizeMax));
  app.add_option("--outstanding", options.outstanding,
                 "messages not yet answered, at most, the same at both ends (1)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{4096}));
  app.add_option("--buffer", options.buffer,
                 "bytes of the windows and buffers of a connection; several round trips of the "
                 "link (25000000)")
      ->check(CLI::Range(std::uint64_t{65536}, std::uint64_t{1} << 31));

  CLI::App* const serve = app.add_subcommand("serve", "take the messages of one client");
  serve->callback([&options] { options.mode = Mode::serve; });

  CLI::App* const message = app.add_subcommand("message", "time one message after the other");
  message->callback([&options] { options.mode = Mode::message; });
  message->add_option("--count", options.count, "messages to time (25)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000}));
  message->add_option("--warm-up", options.warm_up, "messages before them, not timed (2)");
  message
      ->add_option("--deadline", options.deadline,
                   "seconds after which a message is given up, and with it the test (20)")
      ->check(CLI::Range(0.1, kSecondsMax));
  message->add_option("--seconds", options.seconds, "begin no message later than this (12)")
      ->check(CLI::Range(0.1, kSecondsMax));

  CLI::App* const stream = app.add_subcommand("stream", "keep messages outstanding for a time");
  stream->callback([&options] { options.mode = Mode::stream; });
  stream->add_option("--seconds", options.seconds, "how long (12)")
      ->check(CLI::Range(0.1, kSecondsMax));
  stream->add_option("--omit", options.omit, "first seconds left out of the goodput (3)")
      ->check(CLI::Range(0.0, kSecondsMax));
}

}  // namespace longhaul::compare
