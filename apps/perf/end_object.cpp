// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/report.hpp"

namespace longhaul::apps::perf {

double goodput_bps(const ReceiverReport& report) noexcept {
  return report.seconds > 0 ? 8.0 * static_cast<double>(report.bytes) / report.seconds : 0;
}

OrderedJson end_object(const TestPlan& plan, const DirectionSummary& summary) {
  const SenderReport sender = summary.sender.value_or(SenderReport{});
  const ReceiverReport receiver = summary.receiver.value_or(ReceiverReport{});
  const double sender_cpu = sender.cpu_percent;
  const double receiver_cpu = receiver.cpu_percent;
  const bool sending = summary.sending;
  // A file without tensors is whole when its header has arrived.
  const bool unknown = plan.mode == Mode::stream && summary.nothing_compared();
  return {
      {"bytes", receiver.bytes},
      {"seconds", receiver.seconds},
      {"goodput_mbps", goodput_bps(receiver) / 1e6},
      {"transfers",
       {{"count", summary.completed()},
        {"p50_ms", sender.p50_ms},
        {"p90_ms", sender.p90_ms},
        {"p99_ms", sender.p99_ms},
        {"max_ms", sender.max_ms}}},
      {"packets_sent", sender.packets_sent},
      {"packets_lost", sender.packets_lost},
      {"retransmitted_bytes", sender.retransmitted_bytes},
      {"repair_bytes", sender.repair_bytes},
      {"rtt_ms", {{"min", sender.rtt_min_ms}, {"smoothed", sender.rtt_smoothed_ms}}},
      {"cpu_percent",
       {{"local", sending ? sender_cpu : receiver_cpu},
        {"remote", sending ? receiver_cpu : sender_cpu}}},
      {"peak_rss_mib",
       {{"local", sending ? sender.peak_rss_mib : receiver.peak_rss_mib},
        {"remote", sending ? receiver.peak_rss_mib : sender.peak_rss_mib}}},
      {"digest_ok", unknown ? OrderedJson() : OrderedJson(receiver.digest_ok)},
  };
}

}  // namespace longhaul::apps::perf
