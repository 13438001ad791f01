// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "apps/perf/client.hpp"
#include "apps/perf/server.hpp"

namespace longhaul::apps::perf {

/// Keeps what a test run reports; any thread may look.
class RecordingReporter : public Reporter {
 public:
  void on_listening(const std::vector<SocketAddress>& addresses, std::uint64_t) override {
    const std::lock_guard lock(mutex_);
    address_ = addresses.front();
    ++announcements_;
    changed_.notify_all();
  }
  void on_connecting(std::string_view, std::uint16_t) override {}
  void on_start(const StartInfo&) override {
    const std::lock_guard lock(mutex_);
    ++starts_;
    changed_.notify_all();
  }
  void on_interval(const IntervalLine&) override {
    const std::lock_guard lock(mutex_);
    ++intervals_;
  }
  void on_progress(std::uint64_t, std::uint64_t, double) override {}
  void on_end(const Summary& summary) override {
    const std::lock_guard lock(mutex_);
    summaries_.push_back(summary);
    changed_.notify_all();
  }
  void on_error(std::string_view text) override {
    const std::lock_guard lock(mutex_);
    errors_.emplace_back(text);
    changed_.notify_all();
  }
  void on_note(std::string_view) override {}
  Transcript take_transcript() override { return {kTranscript, false}; }

  static constexpr const char* kTranscript = "what was printed\n";

  template <typename Predicate>
  bool wait_until(Predicate predicate) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return predicate(*this); });
  }
  // Inside a predicate, or once nothing reports any more.
  const std::vector<Summary>& summaries() const { return summaries_; }
  const std::vector<std::string>& errors() const { return errors_; }
  int announcements() const { return announcements_; }
  int starts() const { return starts_; }
  int intervals() const { return intervals_; }
  const SocketAddress& address() const { return address_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  SocketAddress address_;
  int announcements_ = 0;
  int starts_ = 0;
  int intervals_ = 0;
  std::vector<Summary> summaries_;
  std::vector<std::string> errors_;
};

/// longhaul-perf -s on a port of the system's choice, in a thread of this process.
class LoopbackServer {
 public:
  explicit LoopbackServer(Options options = {}) : options_(std::move(options)) {
    options_.role = Role::server;
    options_.bind = "127.0.0.1";
    options_.port = 0;
    options_.security = "none";
    auto interrupts = InterruptWatch::create();
    EXPECT_TRUE(interrupts);
    interrupts_.emplace(std::move(*interrupts));
    thread_ = std::thread([this] { status_ = run_server(options_, *interrupts_, reporter_); });
    EXPECT_TRUE(reporter_.wait_until([](auto& r) { return r.announcements() > 0; }));
  }
  ~LoopbackServer() {
    if (thread_.joinable()) interrupt();
  }
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  std::uint16_t port() const { return reporter_.address().port; }
  const SocketAddress& address() const { return reporter_.address(); }
  RecordingReporter& reporter() { return reporter_; }
  /// Ctrl-C; returns the exit status.
  int interrupt() {
    // Directed at the one thread: a client of the same test watches for signals as well.
    ::pthread_kill(thread_.native_handle(), SIGINT);
    return join();
  }
  /// The exit status of a server with `one_off`.
  int join() {
    thread_.join();
    return status_;
  }

 private:
  Options options_;
  std::optional<InterruptWatch> interrupts_;
  RecordingReporter reporter_;
  std::thread thread_;
  int status_ = -1;
};

/// A client of that server, as the flags would say it.
inline Options client_options(const LoopbackServer& server) {
  Options options;
  options.role = Role::client;
  options.host = "127.0.0.1";
  options.port = server.port();
  options.security = "none";
  return options;
}

/// What a client ended with.
struct Outcome {
  int status = -1;
  RecordingReporter reporter;
  const Summary& summary() const { return reporter.summaries().front(); }
  const DirectionSummary& direction(std::size_t i = 0) const { return summary().directions.at(i); }
};

inline std::unique_ptr<Outcome> run(const Options& options) {
  auto outcome = std::make_unique<Outcome>();
  outcome->status = run_client(options, outcome->reporter);
  return outcome;
}

}  // namespace longhaul::apps::perf
