// SPDX-License-Identifier: Apache-2.0
// What both ends of a test tell each other, as JSON. A peer's message is checked field by field;
// nothing of it is believed before.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "apps/perf/intervals.hpp"
#include "apps/perf/plan.hpp"
#include "longhaul/result.hpp"

namespace longhaul::apps::perf {

/// Marks of a test that are kept: with them the results of a long test with short intervals stay
/// below kMessageMax.
inline constexpr std::size_t kIntervalsMax = 8192;
/// Version of this exchange, in the `test` message; another one is refused with both numbers.
inline constexpr std::uint64_t kExchangeVersion = 2;
/// A message longer than this is refused unread.
inline constexpr std::uint64_t kMessageMax = 1u << 20;

namespace kind {
inline constexpr std::string_view test = "test";          ///< client: a TestPlan
inline constexpr std::string_view ready = "ready";        ///< server: receives are posted
inline constexpr std::string_view go = "go";              ///< either: data follows or is to follow
inline constexpr std::string_view stop = "stop";          ///< client: the server shall stop sending
inline constexpr std::string_view done = "done";          ///< who sent: a SenderReport
inline constexpr std::string_view results = "results";    ///< who received: a ReceiverReport
inline constexpr std::string_view finished = "finished";  ///< server: its last word
inline constexpr std::string_view error = "error";        ///< either: why the test cannot go on
}  // namespace kind

/// What a server printed about a test.
struct Transcript {
  std::string text;
  bool json = false;  ///< one JSON object
};

/// What only the sending end knows.
struct SenderReport {
  bool interrupted = false;
  bool whole = true;  ///< false: the connection was gone, and the figures end with the last mark
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  double p50_ms = 0, p90_ms = 0, p99_ms = 0, max_ms = 0;
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_lost = 0;
  std::uint64_t retransmitted_bytes = 0;
  std::uint64_t repair_bytes = 0;
  double rtt_min_ms = 0, rtt_smoothed_ms = 0;
  double cpu_percent = 0;
  double peak_rss_mib = 0;
};

/// What only the receiving end knows.
struct ReceiverReport {
  std::uint64_t bytes = 0;  ///< verified, between the first mark that counts and the last
  double seconds = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  bool digest_ok = false;
  std::vector<std::string> problems;  ///< what failed, the first few
  std::vector<Interval> intervals;
  double cpu_percent = 0;
  double peak_rss_mib = 0;
  std::string output;  ///< file written, empty if none
};

using Json = nlohmann::json;

Json simple_message(std::string_view kind);
Json error_message(std::string_view text);
Json to_message(const TestPlan& plan);
Json to_message(const SenderReport& report);
Json to_message(const ReceiverReport& report);
/// The `finished` message; a transcript too long for one message is cut, and says so.
Json finished_message(const Transcript* transcript);

/// Text of a message, invalid UTF-8 replaced.
std::string encode(const Json& message);
/// An object with a string "kind"; anything else is refused.
Result<Json> decode(std::string_view text);
std::string kind_of(const Json& message);
/// The text of an `error` message, made fit for a terminal.
std::string error_text(const Json& message);

Result<TestPlan> plan_from(const Json& message);
Result<SenderReport> sender_report_from(const Json& message);
Result<ReceiverReport> receiver_report_from(const Json& message);
/// Nothing if the server sent no transcript.
Result<std::optional<Transcript>> transcript_from(const Json& message);

}  // namespace longhaul::apps::perf
