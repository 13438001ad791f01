// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "apps/common/files.hpp"
#include "apps/common/printable.hpp"

namespace longhaul::apps::perf {

namespace {

constexpr std::size_t kWaitingMax = 1u << 20;
constexpr auto kFarewell = std::chrono::seconds(2);
// How long a full pipe may keep the writer from noticing that all is over.
constexpr int kPollMs = 100;

void to_stderr(std::string_view line) {
  std::fputs(fmt::format("longhaul-perf: {}\n", line).c_str(), stderr);
}

std::string message_of(int os_error) {
  return std::generic_category().message(os_error);
}

class StandardOutput : public Output {
 public:
  void write(std::string_view text) override {
    errno = 0;
    const bool good = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    // Into a pipe as well: a reader follows the test line by line.
    if ((std::fflush(stdout) == 0 && good) || warned_) return;
    warned_ = true;
    to_stderr(fmt::format("warning: stdout takes no more of the report ({}); the rest is lost",
                          message_of(errno)));
  }
  void complain(std::string_view line) override {
    std::fflush(stdout);
    to_stderr(line);
  }
  bool lost() const override { return warned_; }
  bool terminal() const override { return ::isatty(STDOUT_FILENO) == 1; }

 private:
  bool warned_ = false;
};

/// What the writer thread and the log share. The thread keeps it alive: a write that never returns
/// must not keep the program from ending.
struct LogState {
  LogState(std::string to, FileDescriptor file) : path(std::move(to)), fd(std::move(file)) {}

  const std::string path;
  const FileDescriptor fd;
  std::mutex mutex;
  std::condition_variable changed;
  std::string waiting;
  bool writing = false;
  bool leaving = false;
  bool given_up = false;  ///< too late: the writer shall go at once
  bool warned = false;
};

void warn_once(LogState& log, std::string_view cause) {
  const std::lock_guard lock(log.mutex);
  if (std::exchange(log.warned, true)) return;
  to_stderr(
      fmt::format("warning: {} does not take all of the log ({}); what does not fit is lost "
                  "and the test goes on: free some space or choose another --logfile",
                  printable(log.path), cause));
}

bool given_up(LogState& log) {
  const std::lock_guard lock(log.mutex);
  return log.given_up;
}

void write_all(LogState& log, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(log.fd.get(), text.data(), text.size());
    if (put >= 0) {
      text.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno == EAGAIN) {
      pollfd room{log.fd.get(), POLLOUT, 0};
      ::poll(&room, 1, kPollMs);
      if (given_up(log)) return;
    } else if (errno != EINTR) {
      return warn_once(log, message_of(errno));
    }
  }
}

void write_log(const std::shared_ptr<LogState>& log) {
  std::unique_lock lock(log->mutex);
  for (;;) {
    log->changed.wait(lock, [&] { return log->leaving || !log->waiting.empty(); });
    if (log->waiting.empty() || log->given_up) break;
    const std::string text = std::exchange(log->waiting, {});
    log->writing = true;
    lock.unlock();
    write_all(*log, text);
    lock.lock();
    log->writing = false;
    log->changed.notify_all();
  }
}

class LogFile : public Output {
 public:
  explicit LogFile(std::shared_ptr<LogState> state) : state_(std::move(state)) {
    // Signals are for the threads that know what to do about them.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([state = state_] { write_log(state); }).detach();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ~LogFile() override {
    std::unique_lock lock(state_->mutex);
    state_->leaving = true;
    state_->changed.notify_all();
    const bool written = state_->changed.wait_for(
        lock, kFarewell, [&] { return state_->waiting.empty() && !state_->writing; });
    state_->given_up = true;
    lock.unlock();
    if (!written) warn_once(*state_, "it is too slow");
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  void write(std::string_view text) override {
    std::unique_lock lock(state_->mutex);
    if (state_->waiting.size() + text.size() <= kWaitingMax) {
      state_->waiting += text;
      state_->changed.notify_all();
      return;
    }
    lock.unlock();
    warn_once(*state_, "it is too slow");
  }
  void complain(std::string_view line) override {
    to_stderr(line);
    write(fmt::format("longhaul-perf: {}\n", line));
  }

 private:
  std::shared_ptr<LogState> state_;
};

}  // namespace

std::unique_ptr<Output> standard_output() {
  return std::make_unique<StandardOutput>();
}

Result<std::unique_ptr<Output>> log_file(const std::string& path) {
  auto fd = open_for_appending(path);
  if (!fd) return tl::unexpected(std::move(fd.error()));
  return std::make_unique<LogFile>(std::make_shared<LogState>(path, std::move(*fd)));
}

}  // namespace longhaul::apps::perf
