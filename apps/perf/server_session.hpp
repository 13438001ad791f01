// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "apps/common/affinity.hpp"
#include "apps/perf/control_channel.hpp"
#include "apps/perf/messages.hpp"
#include "apps/perf/report.hpp"
#include "apps/perf/sink.hpp"
#include "apps/perf/source.hpp"
#include "apps/perf/traffic.hpp"
#include "longhaul/endpoint.hpp"

namespace longhaul::apps::perf {

/// The server's side of one test: a state machine fed with completions and time, so that a client
/// that says nothing, nonsense or goodbye costs one session and never the server.
class ServerSession {
 public:
  ServerSession(const Options& options, Reporter& reporter, const Endpoint& endpoint,
                Connection connection, std::uint64_t test_number);

  /// Connection IDs are unique within their endpoint only.
  bool owns(const Endpoint& endpoint, const Completion& completion) const noexcept {
    return endpoint_ == &endpoint && connection_id_ == completion.connection_id;
  }
  void handle(const Completion& completion);
  /// Does what is due. Call after completions and at `next_look()`.
  void tick(Clock::time_point now);
  Clock::time_point next_look(Clock::time_point now) const;
  /// Ends the test before its end and tells the client why.
  void abandon(std::string_view why);

  /// The test has ended, well or not, and has been reported.
  bool over() const noexcept { return state_ == State::over; }
  /// Over, and none of its memory is the library's: it may go.
  bool drained() const noexcept;
  /// The client asks for a test that makes sense and waits for `begin()` or `abandon()`.
  bool wants_test() const noexcept { return state_ == State::requested; }
  /// From now on this is the server's test.
  void begin();
  bool succeeded() const noexcept { return succeeded_; }
  /// Its result, or why there is none, has been printed.
  bool reported() const noexcept { return reported_; }

 private:
  enum class State : std::uint8_t {
    greeting,   ///< waits for `test`
    requested,  ///< waits for `begin()`
    header,     ///< waits for the raw header of a file
    ready,      ///< receives are posted; waits for `go` or the first byte
    running,    ///< data crosses until both ends have reported
    reporting,  ///< the last word are on their way; waits for the client to close
    failing,    ///< an error is on its way
    closing,    ///< our close is on its way
    over,
  };

  void enter(State state, Clock::time_point now);
  void handle_message(const Json& message);
  void on_test(const Json& message);
  void on_disconnected();
  void prepare();
  Result<void> prepare_stream();
  Result<void> prepare_file();
  void start_traffic(Clock::time_point now);
  void conclude();
  void check_time(Clock::time_point now);
  void report(std::string error);

  const Options& options_;
  Reporter& reporter_;
  const Endpoint* endpoint_;
  Connection connection_;
  std::uint64_t connection_id_;
  std::uint64_t test_number_;
  ControlChannel control_;
  State state_ = State::greeting;
  Clock::time_point state_since_ = Clock::now();
  Clock::time_point farewell_since_ = state_since_;  // reporting: the client has all it needs

  TestPlan plan_;
  std::unique_ptr<Sink> sink_;
  std::unique_ptr<Source> source_;
  std::optional<Traffic> traffic_;
  std::optional<ThreadPinning> pinning_;
  std::string farewell_;
  std::uint64_t last_movement_ = 0;
  Clock::time_point last_moved_{};
  bool admitted_ = false;
  bool reported_ = false;
  bool succeeded_ = false;
};

}  // namespace longhaul::apps::perf
