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

/// Version of this exchange, in the `test` message; another one is refused with both numbers.
inline constexpr std::uint64_t kExchangeVersion = 1;
/// A message longer than this is refused unread.
inline constexpr std::uint64_t kMessageMax = 1u << 20;

namespace kind {
inline constexpr std::string_view test = "test";        ///< client: a TestPlan
inline constexpr std::string_view ready = "ready";      ///< server: receives are posted
inline constexpr std::string_view go = "go";            ///< client: data follows
inline constexpr std::string_view done = "done";        ///< client: a SenderReport
inline constexpr std::string_view results = "results";  ///< server: a ReceiverReport
inline constexpr std::string_view error = "error";      ///< either: why the test cannot go on
}  // namespace kind

/// What only the sending end knows.
struct SenderReport {
  bool interrupted = false;
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

}  // namespace longhaul::apps::perf
