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
#include "apps/perf/plan.hpp"
#include "longhaul/address.hpp"
#include "longhaul/stats.hpp"

namespace longhaul::apps::perf {

/// What is known when the data starts to move.
struct StartInfo {
  SocketAddress local;
  SocketAddress remote;
  TestPlan plan;
  std::string controller;
  std::uint64_t rate_bps = 0;
  std::uint32_t max_datagram = 0;
  std::uint64_t test_number = 0;  ///< server: counted from 1
  std::string engine;             ///< what moves this end's datagrams
};

/// An interval as the sending end sees it; the receiving end has no `path`.
struct IntervalLine {
  Interval interval;
  struct Path {
    std::uint64_t packets_lost = 0;
    std::uint64_t retransmitted_bytes = 0;
    std::uint64_t congestion_window = 0;
    double rtt_ms = 0;
  };
  std::optional<Path> path;
};

/// The end of a test. `sender` and `receiver` are whole only when both ends got that far.
struct Summary {
  bool sending = true;  ///< this end is the client
  TestPlan plan;
  std::optional<SenderReport> sender;
  std::optional<ReceiverReport> receiver;
  /// This end's own view, for when the other end's did not come.
  std::uint64_t local_bytes = 0;
  double local_seconds = 0;
  std::string error;  ///< why the test is not whole; empty when it is
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
};

/// Lines like iperf3's on stdout; a progress bar when stdout is a terminal.
std::unique_ptr<Reporter> make_text_reporter(bool terminal);
/// One JSON object a test on stdout.
std::unique_ptr<Reporter> make_json_reporter();

using OrderedJson = nlohmann::ordered_json;

/// Goodput of a receiver's report, in bits per second.
double goodput_bps(const ReceiverReport& report) noexcept;
/// The `end` object; its members are fixed and described in README.md.
OrderedJson end_object(const Summary& summary);

}  // namespace longhaul::apps::perf
