// SPDX-License-Identifier: Apache-2.0
#include "perf/compare/programs/program.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "perf/compare/programs/messages.hpp"
#include "perf/compare/programs/tests.hpp"

namespace longhaul::compare {

namespace {

constexpr const char* kExamples = R"(
Both ends get the same --size, --outstanding and --buffer. A server takes one client and ends with
it; start a new one for every run. Results are one line of JSON on stdout. For example:
  PROGRAM serve --outstanding 1 &
  PROGRAM message --count 5
perf/compare/run does this for every rival over one emulated link.)";

void print(const Json& result) {
  std::puts(result.dump().c_str());
  std::fflush(stdout);
}

// Some rivals wait in destructors and at exit for threads of theirs, for seconds or for ever; the
// result is out, and the kernel closes what is open.
[[noreturn]] void leave(int status) {
  std::fflush(nullptr);
  std::_Exit(status);
}

/// Prints a server's result once, whoever comes first: the client leaving or a signal.
class ServerReport {
 public:
  explicit ServerReport(const CheckedInbox& inbox) : inbox_(inbox) {}

  void client_came() {
    const std::lock_guard lock(mutex_);
    cpu_before_ = cpu_seconds();
  }
  [[noreturn]] void finish() {
    mutex_.lock();  // and never unlocked: nobody reports twice
    print({{"messages", inbox_.count()},
           {"bytes", inbox_.bytes()},
           {"cpu_seconds", cpu_seconds() - cpu_before_}});
    leave(0);
  }

 private:
  const CheckedInbox& inbox_;
  std::mutex mutex_;
  double cpu_before_ = 0;
};

void serve(const Rival& rival, const Options& options) {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  // Threads of the rival inherit this, so that only the one below takes them.
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  // One slot more than can be outstanding: the next receive is posted before the answer leaves.
  CheckedInbox inbox(options.size, options.outstanding + 1);
  ServerReport report(inbox);
  std::thread([&] {
    int signal = 0;
    sigwait(&ending, &signal);
    report.finish();
  }).detach();
  const auto receiver = rival.listen(options);
  std::puts("ready");
  std::fflush(stdout);
  receiver->accept();
  report.client_came();
  receiver->run(inbox);
  report.finish();
}

void measure(const Rival& rival, const Options& options) {
  Messages messages(options.size, options.outstanding);
  const auto sender = rival.connect(options);
  const double cpu_before = cpu_seconds();
  Json result = options.mode == Mode::message ? message_test(*sender, messages, options)
                                              : stream_test(*sender, messages, options);
  result["cpu_seconds"] = cpu_seconds() - cpu_before;
  result["about"] = sender->about();
  result["counters"] = sender->counters();
  print(result);
  sender->close();
  leave(0);
}

}  // namespace

int run_program(int argc, char** argv, const Rival& rival) {
  Options options;
  CLI::App app(rival.description, rival.program);
  std::string examples = kExamples;
  for (std::size_t at; (at = examples.find("PROGRAM")) != std::string::npos;)
    examples.replace(at, 7, rival.program);
  app.footer(examples);
  add_common_options(app, options);
  rival.add_options(app);
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    options.mode == Mode::serve ? serve(rival, options) : measure(rival, options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", rival.program.c_str(), error.what());
    leave(1);
  }
  leave(0);
}

}  // namespace longhaul::compare
