// SPDX-License-Identifier: Apache-2.0
// longhaul-perf: how fast do tensors cross this line?

#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "apps/common/daemon.hpp"
#include "apps/common/files.hpp"
#include "apps/common/interrupt.hpp"
#include "apps/common/key_file.hpp"
#include "apps/common/pid_file.hpp"
#include "apps/common/printable.hpp"
#include "apps/common/sample_file.hpp"
#include "apps/common/standard_descriptors.hpp"
#include "apps/common/units.hpp"
#include "apps/perf/client.hpp"
#include "apps/perf/endpoint_setup.hpp"
#include "apps/perf/flags.hpp"
#include "apps/perf/output.hpp"
#include "apps/perf/report.hpp"
#include "apps/perf/server.hpp"
#include "longhaul/security.hpp"

namespace longhaul::apps::perf {
namespace {

int complain(std::string_view text) {
  std::fputs(fmt::format("longhaul-perf: error: {}\n", text).c_str(), stderr);
  return 1;
}

/// What the program was asked to print. The exit status; an error names `done`, which is so all the
/// same.
int say(const std::string& text, std::string_view done = {}) {
  const bool good = std::fputs(text.c_str(), stdout) >= 0;
  if (std::fflush(stdout) == 0 && good) return 0;
  const std::string cause = std::generic_category().message(errno);
  return complain(fmt::format("stdout takes no more ({}){}", cause, done));
}

int make_sample(const Options& options) {
  if (std::error_code error; std::filesystem::is_regular_file(options.sample_path, error)) {
    return complain(fmt::format("{} exists; name another file, or remove it if it is not needed",
                                printable(options.sample_path)));
  }
  if (auto written = write_sample_file(options.sample_path, options.sample_bytes); !written) {
    return complain(explain(written.error()));
  }
  return say(fmt::format("{}: a sample model with {} of data\n", options.sample_path,
                         format_bytes(options.sample_bytes)),
             "; the sample is written all the same");
}

/// This host's name as far as a key may be called so.
std::string host_name() {
  std::array<char, 65> text{};
  if (::gethostname(text.data(), text.size() - 1) != 0) return "longhaul";
  std::string name;
  for (const char* at = text.data(); *at != '\0'; ++at) {
    const bool fits =
        std::isalnum(static_cast<unsigned char>(*at)) != 0 || *at == '-' || *at == '.';
    name += fits ? *at : '_';
  }
  return name.empty() ? "longhaul" : name;
}

int generate_key_file(const Options& options) {
  const std::string name = options.key_name.empty() ? host_name() : options.key_name;
  auto key = generate_key(name);
  if (!key) return complain(fmt::format("--key-name: {}", explain(key.error())));
  const std::string& path = options.new_key_path;
  const auto made = make_secret_file(path, *key);
  explicit_bzero(key->data(), key->size());
  if (!made) return complain(explain(made.error()));
  if (!*made) {
    return complain(fmt::format("{} exists; name another file, or remove it if its key is not used",
                                printable(path)));
  }
  return say(fmt::format("{0}: a key named {1} that only you can read. Copy it to the other end in "
                         "a way nobody can listen to:\n"
                         "    scp -p {0} HOST:\n"
                         "Whoever has it may connect. Then there, and here:\n"
                         "    longhaul-perf -s --key {0}\n"
                         "    longhaul-perf -c HOST --key {0}\n",
                         printable(path), name),
             "; the key is made all the same");
}

std::unique_ptr<Reporter> make_reporter(const Options& options, Output& output) {
  if (options.json_stream) return make_json_stream_reporter(output);
  return options.json ? make_json_reporter(output) : make_text_reporter(output);
}

/// Paths keep their meaning when the daemon leaves the folder it was started in.
void make_paths_absolute(Options& options) {
  for (std::string* path : {&options.output, &options.logfile, &options.pidfile,
                            &options.reset_key_path, &options.key_path, &options.certificate_path,
                            &options.private_key_path, &options.ca_path}) {
    if (!path->empty()) *path = std::filesystem::absolute(*path);
  }
}

/// What a server needs later is missed now.
Result<void> check_files(Options& options) {
  if (!options.reset_key_path.empty()) {
    auto key = read_or_make_key(options.reset_key_path);
    if (!key) return tl::unexpected(std::move(key.error()));
    options.reset_key = std::move(*key);
  }
  if (options.output.empty()) return {};
  // It goes again at once; the real one is made when a file arrives.
  auto tried = OutputFile::create(options.output, 0);
  if (!tried) return tl::unexpected(std::move(tried.error()));
  return {};
}

Result<void> write_pid_file(const Options& options, std::optional<PidFile>& pid_file) {
  if (options.pidfile.empty()) return {};
  auto written = PidFile::create(options.pidfile);
  if (!written) return tl::unexpected(std::move(written.error()));
  pid_file.emplace(std::move(*written));
  return {};
}

Result<int> run_server_process(Options& options, Output& output, std::optional<Daemon>& daemon) {
  if (auto checked = check_files(options); !checked) return tl::unexpected(checked.error());
  auto interrupts = InterruptWatch::create();
  if (!interrupts) return tl::unexpected(std::move(interrupts.error()));
  std::optional<PidFile> pid_file;
  // Who waits for the file may connect as soon as it is there.
  const auto listening = [&]() -> Result<void> {
    // The endpoints have it, in another form.
    explicit_bzero(options.reset_key.data(), options.reset_key.size());
    options.reset_key.clear();
    if (auto written = write_pid_file(options, pid_file); !written) return written;
    return daemon ? daemon->ready() : Result<void>();
  };
  return run_server(options, *interrupts, *make_reporter(options, output), listening);
}

Result<int> run_client_process(const Options& options, Output& output) {
  std::optional<PidFile> pid_file;
  if (auto written = write_pid_file(options, pid_file); !written) {
    return tl::unexpected(written.error());
  }
  return run_client(options, *make_reporter(options, output));
}

Result<int> run(Options options) {
  std::optional<Daemon> daemon;
  if (options.daemon) {
    make_paths_absolute(options);
    auto started = Daemon::start();
    if (!started) return tl::unexpected(std::move(started.error()));
    daemon.emplace(std::move(*started));
  }
  if (options.security == "none") {
    std::fputs(
        "longhaul-perf: warning: security is none: packets are neither encrypted nor "
        "authenticated, use it on closed lines only\n",
        stderr);
  }
  // A file beyond ulimit -f is an error to report, not a reason to die.
  std::signal(SIGXFSZ, SIG_IGN);
  std::unique_ptr<Output> output = standard_output();
  if (!options.logfile.empty()) {
    auto log = log_file(options.logfile);
    if (!log) return tl::unexpected(std::move(log.error()));
    output = std::move(*log);
  }
  auto status = options.role == Role::server ? run_server_process(options, *output, daemon)
                                             : run_client_process(options, *output);
  // Who asks for JSON has a program read it, which must not take half an object for a result.
  const bool half_told = (options.json || options.json_stream) && output->lost();
  if (status && *status == 0 && half_told) return 1;
  return status;
}

int main_checked(int argc, const char* const* argv) {
  if (auto held = hold_standard_descriptors(); !held) return complain(explain(held.error()));
  auto line = parse_command_line(argc, argv);
  if (!line) return complain(line.error().context);
  switch (line->command) {
    case Command::help:
      return say(help_text());
    case Command::version:
      return say("longhaul-perf " LONGHAUL_PERF_VERSION "\n");
    case Command::run:
      break;
  }
  if (line->options.role == Role::make_sample) return make_sample(line->options);
  if (line->options.role == Role::generate_key) return generate_key_file(line->options);
  auto status = run(std::move(line->options));
  if (!status) return complain(explain(status.error()));
  return *status;
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
