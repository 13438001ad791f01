// SPDX-License-Identifier: Apache-2.0
// longhaul-perf: how fast do tensors cross this line?

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "apps/common/interrupt.hpp"
#include "apps/common/sample_file.hpp"
#include "apps/common/units.hpp"
#include "apps/perf/client.hpp"
#include "apps/perf/endpoint_setup.hpp"
#include "apps/perf/flags.hpp"
#include "apps/perf/report.hpp"
#include "apps/perf/server.hpp"

namespace longhaul::apps::perf {
namespace {

int complain(std::string_view text) {
  std::fputs(fmt::format("longhaul-perf: error: {}\n", text).c_str(), stderr);
  return 1;
}

int make_sample(const Options& options) {
  if (auto written = write_sample_file(options.sample_path, options.sample_bytes); !written) {
    return complain(explain(written.error()));
  }
  std::fputs(fmt::format("{}: a sample model with {} of data\n", options.sample_path,
                         format_bytes(options.sample_bytes))
                 .c_str(),
             stdout);
  return 0;
}

int run(const Options& options) {
  if (options.role == Role::make_sample) return make_sample(options);
  if (options.security == "none") {
    std::fputs(
        "longhaul-perf: warning: security is none: packets are neither encrypted nor "
        "authenticated, use it on closed lines only\n",
        stderr);
  }
  // A file beyond ulimit -f is an error to report, not a reason to die.
  std::signal(SIGXFSZ, SIG_IGN);
  const auto reporter =
      options.json ? make_json_reporter() : make_text_reporter(::isatty(STDOUT_FILENO) == 1);
  if (options.role == Role::client) return run_client(options, *reporter);
  auto interrupts = InterruptWatch::create();
  if (!interrupts) return complain(explain(interrupts.error()));
  return run_server(options, *interrupts, *reporter);
}

int main_checked(int argc, const char* const* argv) {
  auto line = parse_command_line(argc, argv);
  if (!line) return complain(line.error().context);
  switch (line->command) {
    case Command::help:
      std::fputs(help_text().c_str(), stdout);
      return 0;
    case Command::version:
      std::fputs("longhaul-perf " LONGHAUL_PERF_VERSION "\n", stdout);
      return 0;
    case Command::run:
      break;
  }
  return run(line->options);
}

}  // namespace
}  // namespace longhaul::apps::perf

int main(int argc, char** argv) {
  try {
    return longhaul::apps::perf::main_checked(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "longhaul-perf: error: %s\n", error.what());
    return 1;
  }
}
