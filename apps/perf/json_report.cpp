// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "apps/perf/report.hpp"

namespace longhaul::apps::perf {

namespace {

OrderedJson start_object(const StartInfo& info) {
  const TestPlan& plan = info.plan;
  OrderedJson object = {{"version", LONGHAUL_PERF_VERSION},
                        {"local", to_string(info.local)},
                        {"remote", to_string(info.remote)},
                        {"mode", to_string(plan.mode)},
                        {"controller", info.controller},
                        {"bitrate_bps", info.rate_bps},
                        {"max_datagram_bytes", info.max_datagram},
                        {"engine", info.engine},
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

class JsonReporter : public Reporter {
 public:
  void on_listening(const std::vector<SocketAddress>&, std::uint64_t) override {}
  void on_connecting(std::string_view, std::uint16_t) override {}
  void on_start(const StartInfo& info) override {
    object_ = OrderedJson::object();
    object_["start"] = start_object(info);
    intervals_ = OrderedJson::array();
  }
  void on_interval(const IntervalLine& line) override {
    OrderedJson interval = interval_object(line.interval);
    if (line.path) {
      interval["packets_lost"] = line.path->packets_lost;
      interval["retransmitted_bytes"] = line.path->retransmitted_bytes;
      interval["congestion_window_bytes"] = line.path->congestion_window;
      interval["rtt_ms"] = line.path->rtt_ms;
    }
    intervals_.push_back(std::move(interval));
  }
  void on_progress(std::uint64_t, std::uint64_t, double) override {}

  void on_end(const Summary& summary) override {
    object_["intervals"] = std::move(intervals_);
    if (summary.receiver && summary.sending) {
      OrderedJson received = OrderedJson::array();
      for (const Interval& interval : summary.receiver->intervals) {
        received.push_back(interval_object(interval));
      }
      object_["receiver_intervals"] = std::move(received);
    }
    object_["end"] = end_object(summary);
    if (summary.receiver && !summary.receiver->problems.empty()) {
      object_["problems"] = summary.receiver->problems;
    }
    if (summary.receiver && !summary.receiver->output.empty()) {
      object_["output"] = summary.receiver->output;
    }
    if (!summary.error.empty()) object_["error"] = summary.error;
    print();
  }
  void on_error(std::string_view text) override {
    object_["intervals"] = std::move(intervals_);
    object_["error"] = std::string(text);
    print();
  }
  void on_note(std::string_view text) override {
    std::fprintf(stderr, "longhaul-perf: %.*s\n", static_cast<int>(text.size()), text.data());
  }

 private:
  void print() {
    const std::string text = object_.dump(2, ' ', false, OrderedJson::error_handler_t::replace);
    std::fprintf(stdout, "%s\n", text.c_str());
    std::fflush(stdout);
    object_ = OrderedJson::object();
    intervals_ = OrderedJson::array();
  }

  OrderedJson object_ = OrderedJson::object();
  OrderedJson intervals_ = OrderedJson::array();
};

}  // namespace

std::unique_ptr<Reporter> make_json_reporter() {
  return std::make_unique<JsonReporter>();
}

}  // namespace longhaul::apps::perf
