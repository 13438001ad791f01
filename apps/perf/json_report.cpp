// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "apps/perf/report.hpp"

namespace longhaul::apps::perf {

namespace {

OrderedJson start_object(const StartInfo& info) {
  const TestPlan& plan = info.plan;
  OrderedJson object = {{"version", LONGHAUL_PERF_VERSION},
                        {"local", to_string(info.local)},
                        {"remote", to_string(info.remote)},
                        {"mode", to_string(plan.mode)},
                        {"direction", to_string(plan.direction)},
                        {"controller", info.controller},
                        {"bitrate_bps", info.rate_bps},
                        {"max_datagram_bytes", info.max_datagram},
                        {"engine", info.engine},
                        {"security", info.security},
                        {"peer_identity", info.peer_identity},
                        {"cipher", info.cipher},
                        {"parallel", plan.parallel},
                        {"interval_seconds", std::chrono::duration<double>(plan.interval).count()}};
  if (plan.mode == Mode::file) {
    object["file"] = plan.file_name;
    object["file_bytes"] = plan.file_bytes;
    object["tensors"] = plan.transfers;
    return object;
  }
  object["dtype"] = to_string(plan.dtype);
  object["shape"] = plan.extents;
  object["transfer_bytes"] = plan.bytes;
  object["transfers"] = plan.transfers;
  object["time_seconds"] = std::chrono::duration<double>(plan.time).count();
  object["omit_seconds"] = std::chrono::duration<double>(plan.omit).count();
  object["seed"] = plan.seed;
  return object;
}

OrderedJson interval_object(const Interval& interval) {
  return {{"start", std::chrono::duration<double>(interval.begin).count()},
          {"end", std::chrono::duration<double>(interval.end).count()},
          {"seconds", interval.seconds()},
          {"bytes", interval.bytes},
          {"mbps", interval.bits_per_second() / 1e6},
          {"omitted", interval.omitted}};
}

OrderedJson line_object(const IntervalLine& line) {
  OrderedJson object = interval_object(line.interval);
  object["sender"] = line.sending;
  if (line.path) {
    object["packets_lost"] = line.path->packets_lost;
    object["retransmitted_bytes"] = line.path->retransmitted_bytes;
    object["congestion_window_bytes"] = line.path->congestion_window;
    object["rtt_ms"] = line.path->rtt_ms;
  }
  return object;
}

std::string_view suffix_of(std::size_t direction) {
  return direction == 0 ? "" : "_bidir_reverse";
}

OrderedJson json_of(const Transcript& transcript) {
  if (!transcript.json) return transcript.text;
  OrderedJson object = OrderedJson::parse(transcript.text, nullptr, false);
  return object.is_discarded() ? OrderedJson(transcript.text) : object;
}

/// What stands beside `start` and `intervals`; members that have nothing to say are left out.
void add_end(const Summary& summary, OrderedJson& object) {
  for (std::size_t i = 0; i < summary.directions.size(); ++i) {
    const DirectionSummary& direction = summary.directions[i];
    const auto name = [&](std::string_view base) {
      return std::string(base) + std::string(suffix_of(i));
    };
    if (direction.receiver && direction.sending) {
      OrderedJson received = OrderedJson::array();
      for (const Interval& interval : direction.receiver->intervals) {
        received.push_back(interval_object(interval));
      }
      object[name("receiver_intervals")] = std::move(received);
    }
    object[name("end")] = end_object(summary.plan, direction);
    if (direction.receiver && !direction.receiver->problems.empty()) {
      object[name("problems")] = direction.receiver->problems;
    }
    if (direction.receiver && !direction.receiver->output.empty()) {
      object[name("output")] = direction.receiver->output;
    }
  }
  if (summary.server_output) {
    object[summary.server_output->json ? "server_output_json" : "server_output_text"] =
        json_of(*summary.server_output);
  }
  if (!summary.error.empty()) object["error"] = summary.error;
}

std::string dump(const OrderedJson& object, int indent) {
  return object.dump(indent, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

class JsonReporter : public Reporter {
 public:
  explicit JsonReporter(Output& output) : output_(output) {}

  void on_listening(const std::vector<SocketAddress>&, std::uint64_t) override {}
  void on_connecting(std::string_view, std::uint16_t) override {}
  void on_start(const StartInfo& info) override {
    object_ = OrderedJson::object();
    object_["start"] = start_object(info);
    intervals_ = OrderedJson::array();
  }
  void on_interval(const IntervalLine& line) override {
    // A test of days must not grow without end; its result needs no marks.
    if (intervals_.size() < kIntervalsMax * 16) intervals_.push_back(line_object(line));
  }
  void on_progress(std::uint64_t, std::uint64_t, double) override {}
  void on_end(const Summary& summary) override {
    object_["intervals"] = std::move(intervals_);
    add_end(summary, object_);
    print();
  }
  void on_error(std::string_view text) override {
    object_["intervals"] = std::move(intervals_);
    object_["error"] = std::string(text);
    print();
  }
  void on_note(std::string_view text) override { output_.complain(text); }
  Transcript take_transcript() override { return {std::exchange(last_, {}), true}; }

 private:
  void print() {
    last_ = dump(object_, 2);
    output_.write(last_);
    object_ = OrderedJson::object();
    intervals_ = OrderedJson::array();
  }

  Output& output_;
  OrderedJson object_ = OrderedJson::object();
  OrderedJson intervals_ = OrderedJson::array();
  std::string last_;
};

class JsonStreamReporter : public Reporter {
 public:
  explicit JsonStreamReporter(Output& output) : output_(output) {}

  void on_listening(const std::vector<SocketAddress>&, std::uint64_t) override {}
  void on_connecting(std::string_view, std::uint16_t) override {}
  void on_start(const StartInfo& info) override { print("start", start_object(info)); }
  void on_interval(const IntervalLine& line) override { print("interval", line_object(line)); }
  void on_progress(std::uint64_t, std::uint64_t, double) override {}
  void on_end(const Summary& summary) override {
    OrderedJson object = OrderedJson::object();
    add_end(summary, object);
    print("end", object);
  }
  void on_error(std::string_view text) override { print("error", std::string(text)); }
  void on_note(std::string_view text) override { output_.complain(text); }
  void record() override {
    recording_ = true;
    transcript_.clear();
  }
  Transcript take_transcript() override {
    recording_ = false;
    return {std::exchange(transcript_, {}), false};
  }

 private:
  void print(std::string_view event, OrderedJson data) {
    const OrderedJson object = {{"event", event}, {"data", std::move(data)}};
    const std::string line = dump(object, -1);
    if (recording_ && transcript_.size() < kMessageMax) transcript_ += line;
    output_.write(line);
  }

  Output& output_;
  bool recording_ = false;
  std::string transcript_;
};

}  // namespace

std::unique_ptr<Reporter> make_json_reporter(Output& output) {
  return std::make_unique<JsonReporter>(output);
}

std::unique_ptr<Reporter> make_json_stream_reporter(Output& output) {
  return std::make_unique<JsonStreamReporter>(output);
}

}  // namespace longhaul::apps::perf
