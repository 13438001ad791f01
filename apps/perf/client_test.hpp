// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/perf/control_channel.hpp"
#include "apps/perf/event_loop.hpp"
#include "apps/perf/messages.hpp"
#include "apps/perf/report.hpp"
#include "apps/perf/sink.hpp"
#include "apps/perf/source.hpp"
#include "apps/perf/traffic.hpp"
#include "longhaul/endpoint.hpp"

namespace longhaul::apps::perf {

/// What a client sends, ready in memory, and where it receives.
struct Workload {
  TestPlan plan;
  std::unique_ptr<SafetensorsFile> file;  ///< with Mode::file
  std::vector<std::byte> digests;         ///< with Mode::file
  std::unique_ptr<Source> source;         ///< if the client sends
  std::unique_ptr<Sink> sink;             ///< if the server sends
};

/// The client's side of one test on an open connection: agree with the server, let the data cross,
/// compare.
class ClientTest {
 public:
  ClientTest(const Options& options, Workload& workload, EventLoop& loop, Reporter& reporter,
             Endpoint& endpoint, Connection connection);

  /// The exit status; an error when there is no result to report. Afterwards the endpoint has to
  /// be closed before this object goes.
  Result<int> run();

 private:
  Result<void> negotiate();
  Result<void> transfer();
  void report(std::string error);

  /// Handles what happens until `until`, or less; fails when the test cannot go on.
  Result<void> step(Clock::time_point until);
  void handle(const Completion& completion);
  void handle_message(const Json& message);
  void set_failure(Error error);
  void show_progress();

  const Options& options_;
  Workload& workload_;
  EventLoop& loop_;
  Reporter& reporter_;
  Endpoint& endpoint_;
  Connection connection_;
  ControlChannel control_;
  Traffic traffic_;

  bool ready_ = false;
  bool finished_ = false;
  bool interrupted_ = false;
  std::optional<Transcript> server_output_;
  std::optional<Error> failure_;
  Clock::time_point next_progress_{};
};

}  // namespace longhaul::apps::perf
