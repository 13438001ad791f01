// SPDX-License-Identifier: Apache-2.0
// longhaul-wan: a long line between two interfaces.

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "apps/common/files.hpp"
#include "apps/common/pid_file.hpp"
#include "apps/common/printable.hpp"
#include "apps/common/units.hpp"
#include "apps/wan/emulator.hpp"
#include "apps/wan/flags.hpp"
#include "apps/wan/plan_checks.hpp"
#include "apps/wan/scenario.hpp"

namespace longhaul::apps::wan {
namespace {

std::string explain(const Error& error) {
  if (error.os_error == 0) return error.context;
  return fmt::format("{} ({})", error.context, std::generic_category().message(error.os_error));
}

int complain(const Error& error) {
  std::fputs(fmt::format("longhaul-wan: error: {}\n", explain(error)).c_str(), stderr);
  return 1;
}

/// Prints, unless nobody reads: a full pipe must not hold up packets.
void print(std::FILE* stream, std::string_view text) {
  pollfd fd{::fileno(stream), POLLOUT, 0};
  if (text.empty() || ::poll(&fd, 1, 0) != 1 || (fd.revents & POLLOUT) == 0) return;
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

/// The line comes before those who use it: at once when it is due, and not when a time slice of
/// somebody else ends. All of it is a wish, so none of it is checked.
void become_punctual() {
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  ::setpriority(PRIO_PROCESS, 0, -20);
  ::mlockall(MCL_CURRENT | MCL_FUTURE);
}

/// While packets are due nobody waits for the disk, nor for one that is full.
void show_json(const std::string& path, const Report& report) {
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  using enum std::filesystem::file_type;
  if (path.empty() || path == "-" || (kind != regular && kind != not_found)) return;
  const std::string part = path + ".part";
  std::ofstream file(part);
  file << json_text(report) << std::flush;
  if (file && std::rename(part.c_str(), path.c_str()) == 0) return;
  std::remove(part.c_str());
}

Result<void> write_json(const std::string& path, const std::string& text) {
  if (path == "-") {
    if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return {};
    return fail(ErrorCode::system, "the counters could not be written to stdout");
  }
  auto file = OutputFile::create(path, 0);
  if (!file) return tl::unexpected(std::move(file.error()));
  if (auto put = file->write_at(0, std::as_bytes(std::span(text))); !put) return put;
  return file->commit();
}

/// Before an interface is touched; what is written at the end is known to be writable now.
Result<void> check_outputs(const Options& options) {
  if (!options.json.empty() && options.json != "-") {
    const auto file = OutputFile::create(options.json, 0);
    if (!file)
      return fail(file.error().code, "--json: " + file.error().context, file.error().os_error);
  }
  if (options.pidfile.empty()) return {};
  return PidFile::check(options.pidfile);
}

Result<void> run(Options options) {
  if (!options.scenario.empty()) {
    if (auto read = read_scenario(options.scenario, options); !read) return read;
  }
  auto plans = plan_links(options.links);
  if (plans) {
    if (auto checked = check_limits(*plans, options); !checked)
      plans = tl::unexpected(std::move(checked.error()));
  }
  if (!plans) {
    // The words come from the file then.
    if (!options.scenario.empty())
      plans.error().context = printable(options.scenario) + ": " + plans.error().context;
    return tl::unexpected(std::move(plans.error()));
  }
  if (auto checked = check_outputs(options); !checked) return checked;
  auto interrupts = InterruptWatch::create();
  if (!interrupts) return tl::unexpected(std::move(interrupts.error()));
  std::vector<std::string> notes;
  auto emulator = Emulator::open(options, std::move(*plans), notes);
  if (!emulator) return tl::unexpected(std::move(emulator.error()));
  std::FILE* people = options.json == "-" ? stderr : stdout;
  for (const std::string& note : notes) print(people, note + '\n');
  become_punctual();
  std::optional<PidFile> pid_file;
  if (!options.pidfile.empty()) {
    auto written = PidFile::create(options.pidfile);
    if (!written) return tl::unexpected(std::move(written.error()));
    pid_file.emplace(std::move(*written));
  }
  emulator->start();
  print(stdout, "ready\n");
  Report before = emulator->report();
  std::size_t told = 0;
  const auto look = [&] {
    Report now = emulator->report();
    std::string text = interval_text(before, now);
    const auto problems = [](const Report& report) {
      auto lines = reasons_of_bottleneck(report);
      for (auto& fault : faults_of_senders(report)) lines.push_back(std::move(fault));
      return lines;
    };
    const auto lines = problems(now);
    // Counts grow each second; the line is told again when there is a new one.
    if (lines.size() > told) {
      for (const std::string& line : lines) text += fmt::format("  ! {}\n", line);
    }
    told = lines.size();
    print(people, text);
    show_json(options.json, now);
    before = std::move(now);
  };
  const auto tell = [](const Event& event) { print(stderr, event_text(event)); };
  auto ended = emulator->run(*interrupts, look, tell);
  const Report report = emulator->report();
  print(people, summary_text(report));
  if (!options.json.empty()) {
    if (auto written = write_json(options.json, json_text(report)); !written) return written;
  }
  return ended;
}

int main_checked(int argc, const char* const* argv) {
  auto line = parse_command_line(argc, argv);
  if (!line) return complain(line.error());
  switch (line->command) {
    case Command::help:
      std::fputs(help_text().c_str(), stdout);
      return 0;
    case Command::version:
      std::fputs("longhaul-wan " LONGHAUL_WAN_VERSION "\n", stdout);
      return 0;
    case Command::run:
      break;
  }
  const auto ended = run(std::move(line->options));
  return ended ? 0 : complain(ended.error());
}

}  // namespace
}  // namespace longhaul::apps::wan

int main(int argc, char** argv) {
  try {
    return longhaul::apps::wan::main_checked(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "longhaul-wan: error: %s\n", error.what());
    return 1;
  }
}
