// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "apps/common/printable.hpp"
#include "apps/common/units.hpp"

namespace longhaul::apps::perf {

namespace {

constexpr std::size_t kProblemsMax = 16;
constexpr std::uint64_t kCpuMax = 4095;
constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kDurationMax = std::numeric_limits<std::int64_t>::max() / 4;

/// Reads the fields of an object; the first wrong one is remembered and the rest are skipped, so
/// that a reader names every field once and asks once whether all were good.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  std::uint64_t number(const char* name, std::uint64_t limit = kAny) {
    const Json* field = find(name);
    if (field == nullptr) return 0;
    if (!field->is_number_unsigned() || field->get<std::uint64_t>() > limit) return reject(name);
    return field->get<std::uint64_t>();
  }
  std::optional<unsigned> optional_number(const char* name, std::uint64_t limit) {
    const auto found = object_.find(name);
    if (found != object_.end() && found->is_null()) return {};
    return static_cast<unsigned>(number(name, limit));
  }
  Duration duration(const char* name) {
    return Duration(static_cast<std::int64_t>(number(name, kDurationMax)));
  }
  double real(const char* name) {
    const Json* field = find(name);
    if (field == nullptr) return 0;
    if (!field->is_number()) return static_cast<double>(reject(name));
    return field->get<double>();
  }
  bool boolean(const char* name) {
    const Json* field = find(name);
    if (field == nullptr) return false;
    if (!field->is_boolean()) return reject(name) != 0;
    return field->get<bool>();
  }
  std::string text(const char* name) {
    const Json* field = find(name);
    if (field == nullptr) return {};
    if (!field->is_string()) {
      reject(name);
      return {};
    }
    return printable(field->get_ref<const std::string&>(), 1000);
  }
  const Json& array(const char* name, std::size_t limit) {
    const Json* field = find(name);
    if (field == nullptr) return nothing_;
    if (!field->is_array() || field->size() > limit) {
      reject(name);
      return nothing_;
    }
    return *field;
  }

  std::uint64_t reject(const char* name) {
    if (wrong_.empty()) wrong_ = name;
    return 0;
  }

  template <typename T>
  Result<T> finish(T value, std::string_view message) const {
    if (wrong_.empty()) return value;
    return fail(ErrorCode::invalid_argument,
                fmt::format("the peer's \"{}\" message lacks a good \"{}\"; are both ends the same "
                            "release of longhaul-perf?",
                            message, wrong_));
  }

 private:
  const Json* find(const char* name) {
    const auto found = object_.find(name);
    if (found != object_.end()) return &*found;
    reject(name);
    return nullptr;
  }

  const Json& object_;
  const Json nothing_ = Json::array();
  std::string wrong_;
};

Direction read_direction(Fields& fields) {
  const std::string text = fields.text("direction");
  for (const Direction one : {Direction::forward, Direction::reverse, Direction::both}) {
    if (text == to_string(one)) return one;
  }
  fields.reject("direction");
  return Direction::forward;
}

Json interval_json(const Interval& interval) {
  return {{"begin_ns", interval.begin.count()},
          {"end_ns", interval.end.count()},
          {"bytes", interval.bytes},
          {"omitted", interval.omitted}};
}

}  // namespace

Json simple_message(std::string_view kind) {
  return {{"kind", kind}};
}

Json error_message(std::string_view text) {
  return {{"kind", kind::error}, {"text", text}};
}

Json to_message(const TestPlan& plan) {
  return {{"kind", kind::test},
          {"exchange", kExchangeVersion},
          {"mode", to_string(plan.mode)},
          {"direction", to_string(plan.direction)},
          {"server_cpu", plan.server_cpu ? Json(*plan.server_cpu) : Json(nullptr)},
          {"server_output", plan.server_output},
          {"dtype", longhaul::to_string(plan.dtype)},
          {"extents", plan.extents},
          {"bytes", plan.bytes},
          {"transfers", plan.transfers},
          {"time_ns", plan.time.count()},
          {"omit_ns", plan.omit.count()},
          {"interval_ns", plan.interval.count()},
          {"parallel", plan.parallel},
          {"server_rate_bps", plan.server_rate_bps},
          {"seed", plan.seed},
          {"file_name", plan.file_name},
          {"file_bytes", plan.file_bytes},
          {"header_bytes", plan.header_bytes}};
}

Json to_message(const SenderReport& report) {
  return {{"kind", kind::done},
          {"interrupted", report.interrupted},
          {"whole", report.whole},
          {"completed", report.completed},
          {"failed", report.failed},
          {"p50_ms", report.p50_ms},
          {"p90_ms", report.p90_ms},
          {"p99_ms", report.p99_ms},
          {"max_ms", report.max_ms},
          {"packets_sent", report.packets_sent},
          {"packets_lost", report.packets_lost},
          {"retransmitted_bytes", report.retransmitted_bytes},
          {"repair_bytes", report.repair_bytes},
          {"rtt_min_ms", report.rtt_min_ms},
          {"rtt_smoothed_ms", report.rtt_smoothed_ms},
          {"cpu_percent", report.cpu_percent},
          {"peak_rss_mib", report.peak_rss_mib}};
}

Json to_message(const ReceiverReport& report) {
  Json intervals = Json::array();
  for (const Interval& interval : report.intervals) {
    if (intervals.size() == kIntervalsMax) break;
    intervals.push_back(interval_json(interval));
  }
  const auto shown = std::min(report.problems.size(), kProblemsMax);
  const std::vector<std::string> problems(
      report.problems.begin(), report.problems.begin() + static_cast<std::ptrdiff_t>(shown));
  return {{"kind", kind::results},
          {"bytes", report.bytes},
          {"seconds", report.seconds},
          {"completed", report.completed},
          {"failed", report.failed},
          {"digest_ok", report.digest_ok},
          {"problems", problems},
          {"intervals", std::move(intervals)},
          {"cpu_percent", report.cpu_percent},
          {"peak_rss_mib", report.peak_rss_mib},
          {"output", report.output}};
}

Json finished_message(const Transcript* transcript) {
  Json message = {{"kind", kind::finished}, {"output", nullptr}, {"output_is_json", false}};
  if (transcript == nullptr) return message;
  message["output"] = transcript->text;
  message["output_is_json"] = transcript->json;
  // Escapes make the text longer, at most sixfold; the end of it holds the results.
  for (std::size_t kept = transcript->text.size() / 2; encode(message).size() > kMessageMax;
       kept /= 2) {
    message["output"] = fmt::format("(the first {} bytes of the server's output are left out)\n{}",
                                    transcript->text.size() - kept,
                                    transcript->text.substr(transcript->text.size() - kept));
    message["output_is_json"] = false;
  }
  return message;
}

std::string encode(const Json& message) {
  return message.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Json> decode(std::string_view text) {
  Json message = Json::parse(text, nullptr, false);
  if (!message.is_object() || !message.contains("kind") || !message["kind"].is_string()) {
    return fail(ErrorCode::invalid_argument,
                "the peer sent something that is no message of longhaul-perf; is it one?");
  }
  return message;
}

std::string kind_of(const Json& message) {
  return message["kind"].get<std::string>();
}

std::string error_text(const Json& message) {
  const auto text = message.find("text");
  if (text == message.end() || !text->is_string()) return "an error without a text";
  return printable(text->get_ref<const std::string&>(), 1000);
}

Result<TestPlan> plan_from(const Json& message) {
  Fields fields(message);
  const std::uint64_t exchange = fields.number("exchange");
  if (exchange != kExchangeVersion) {
    return fail(ErrorCode::version_mismatch,
                fmt::format("the client speaks version {} of the test exchange, this server {}; "
                            "install the same release on both ends",
                            exchange, kExchangeVersion));
  }
  TestPlan plan;
  const std::string mode = fields.text("mode");
  if (mode == to_string(Mode::file)) {
    plan.mode = Mode::file;
  } else if (mode != to_string(Mode::stream)) {
    fields.reject("mode");
  }
  plan.direction = read_direction(fields);
  plan.server_cpu = fields.optional_number("server_cpu", kCpuMax);
  plan.server_output = fields.boolean("server_output");
  const auto dtype = parse_dtype(fields.text("dtype"));
  if (dtype) {
    plan.dtype = *dtype;
  } else {
    fields.reject("dtype");
  }
  for (const Json& extent : fields.array("extents", kDimensionsMax)) {
    if (!extent.is_number_unsigned()) {
      fields.reject("extents");
      break;
    }
    plan.extents.push_back(extent.get<std::uint64_t>());
  }
  plan.bytes = fields.number("bytes");
  plan.transfers = fields.number("transfers");
  plan.time = fields.duration("time_ns");
  plan.omit = fields.duration("omit_ns");
  plan.interval = fields.duration("interval_ns");
  plan.parallel = static_cast<std::uint32_t>(
      fields.number("parallel", std::numeric_limits<std::uint32_t>::max()));
  plan.server_rate_bps = fields.number("server_rate_bps");
  plan.seed = fields.number("seed");
  plan.file_name = fields.text("file_name");
  plan.file_bytes = fields.number("file_bytes");
  plan.header_bytes = fields.number("header_bytes");
  auto result = fields.finish(std::move(plan), kind::test);
  if (!result) return result;
  if (auto checked = check_plan(*result); !checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  return result;
}

Result<SenderReport> sender_report_from(const Json& message) {
  Fields fields(message);
  SenderReport report;
  report.interrupted = fields.boolean("interrupted");
  report.whole = fields.boolean("whole");
  report.completed = fields.number("completed");
  report.failed = fields.number("failed");
  report.p50_ms = fields.real("p50_ms");
  report.p90_ms = fields.real("p90_ms");
  report.p99_ms = fields.real("p99_ms");
  report.max_ms = fields.real("max_ms");
  report.packets_sent = fields.number("packets_sent");
  report.packets_lost = fields.number("packets_lost");
  report.retransmitted_bytes = fields.number("retransmitted_bytes");
  report.repair_bytes = fields.number("repair_bytes");
  report.rtt_min_ms = fields.real("rtt_min_ms");
  report.rtt_smoothed_ms = fields.real("rtt_smoothed_ms");
  report.cpu_percent = fields.real("cpu_percent");
  report.peak_rss_mib = fields.real("peak_rss_mib");
  return fields.finish(report, kind::done);
}

Result<ReceiverReport> receiver_report_from(const Json& message) {
  Fields fields(message);
  ReceiverReport report;
  report.bytes = fields.number("bytes");
  report.seconds = fields.real("seconds");
  report.completed = fields.number("completed");
  report.failed = fields.number("failed");
  report.digest_ok = fields.boolean("digest_ok");
  for (const Json& problem : fields.array("problems", kProblemsMax)) {
    if (problem.is_string()) {
      report.problems.push_back(printable(problem.get_ref<const std::string&>(), 300));
    }
  }
  for (const Json& item : fields.array("intervals", kIntervalsMax)) {
    if (!item.is_object()) {
      fields.reject("intervals");
      break;
    }
    Fields inner(item);
    const Interval interval{inner.duration("begin_ns"), inner.duration("end_ns"),
                            inner.number("bytes"), inner.boolean("omitted")};
    if (!inner.finish(interval, kind::results)) fields.reject("intervals");
    report.intervals.push_back(interval);
  }
  report.cpu_percent = fields.real("cpu_percent");
  report.peak_rss_mib = fields.real("peak_rss_mib");
  report.output = fields.text("output");
  return fields.finish(std::move(report), kind::results);
}

Result<std::optional<Transcript>> transcript_from(const Json& message) {
  Fields fields(message);
  const auto output = message.find("output");
  if (output != message.end() && output->is_null()) return std::optional<Transcript>();
  Transcript transcript;
  transcript.json = fields.boolean("output_is_json");
  if (output == message.end() || !output->is_string()) {
    fields.reject("output");
  } else {
    transcript.text = printable_lines(output->get_ref<const std::string&>());
  }
  return fields.finish(std::optional(std::move(transcript)), kind::finished);
}

}  // namespace longhaul::apps::perf
