// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/perf/intervals.hpp"
#include "apps/perf/messages.hpp"
#include "apps/perf/options.hpp"
#include "apps/perf/output.hpp"
#include "apps/perf/plan.hpp"
#include "longhaul/address.hpp"
#include "longhaul/stats.hpp"

namespace longhaul::apps::perf {

/// What is known when the data starts to move.
struct StartInfo {
  SocketAddress local;
  SocketAddress remote;
  TestPlan plan;
  bool at_client = true;
  std::string controller;
  std::uint64_t rate_bps = 0;
  std::uint32_t max_datagram = 0;
  std::uint64_t test_number = 0;  ///< server: counted from 1
  std::string engine;             ///< what moves this end's datagrams
  std::string security;           ///< "psk" …
  std::string peer_identity;      ///< who the other end has proven to be; empty with none
  std::string cipher;             ///< what seals the packets; empty with none
};

/// An interval as one end sees it; the receiving end has no `path`.
struct IntervalLine {
  Interval interval;
  bool sending = true;  ///< bytes that left this end, not bytes that arrived
  struct Path {
    std::uint64_t packets_lost = 0;
    std::uint64_t retransmitted_bytes = 0;
    std::uint64_t congestion_window = 0;
    double rtt_ms = 0;
  };
  std::optional<Path> path;
};

/// The end of a test in one direction. `sender` and `receiver` are there only when they got here.
struct DirectionSummary {
  bool sending = true;  ///< this end is the one that sent
  std::optional<SenderReport> sender;
  std::optional<ReceiverReport> receiver;
  /// This end's own view, for when the other end's did not come.
  std::uint64_t local_bytes = 0;
  double local_seconds = 0;

  /// Transfers that completed, as both ends count them: the sender's number, since at a timed end
  /// the receiver completes some more that the sender no longer hears of.
  std::uint64_t completed() const noexcept {
    return sender ? sender->completed : receiver ? receiver->completed : 0;
  }
  /// Every comparison agreed because there was none: a timed test shorter than its first transfer.
  bool nothing_compared() const noexcept {
    return receiver && receiver->digest_ok && completed() == 0;
  }
};

/// The end of a test: one direction, or two, client to server first.
struct Summary {
  TestPlan plan;
  bool at_client = true;
  std::vector<DirectionSummary> directions;
  std::optional<Transcript> server_output;  ///< at a client that asked for it
  std::string error;                        ///< why the test is not whole; empty when it is
};

/// Prints a test, as it goes or at its end.
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void on_listening(const std::vector<SocketAddress>& addresses, std::uint64_t test) = 0;
  virtual void on_connecting(std::string_view host, std::uint16_t port) = 0;
  virtual void on_start(const StartInfo& info) = 0;
  virtual void on_interval(const IntervalLine& line) = 0;
  /// Bytes of `total` that have left, while a file is on its way.
  virtual void on_progress(std::uint64_t bytes, std::uint64_t total, double seconds) = 0;
  virtual void on_end(const Summary& summary) = 0;
  virtual void on_error(std::string_view text) = 0;
  /// Neither result nor failure: something an operator may want to know.
  virtual void on_note(std::string_view text) = 0;
  /// Keeps from now on what is printed, until it is taken or this is called again.
  virtual void record() {}
  /// What was printed since `record()`.
  virtual Transcript take_transcript() { return {}; }
};

/// Lines like iperf3's; a progress bar when they go to a terminal. `output` must outlive it, as
/// with the others.
std::unique_ptr<Reporter> make_text_reporter(Output& output);
/// One JSON object a test.
std::unique_ptr<Reporter> make_json_reporter(Output& output);
/// One JSON object a line: {"event": "start" | "interval" | "end" | "error", "data": …}.
std::unique_ptr<Reporter> make_json_stream_reporter(Output& output);

using OrderedJson = nlohmann::ordered_json;

/// Goodput of a receiver's report, in bits per second.
double goodput_bps(const ReceiverReport& report) noexcept;
/// The `end` object; its members are fixed and described in README.md. `digest_ok` is null if
/// nothing completed that could be compared.
OrderedJson end_object(const TestPlan& plan, const DirectionSummary& summary);

}  // namespace longhaul::apps::perf
