// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "apps/common/printable.hpp"
#include "apps/common/units.hpp"
#include "apps/perf/report.hpp"

namespace longhaul::apps::perf {

namespace {

constexpr std::string_view kRule = "-----------------------------------------------------------";
constexpr std::size_t kBarWidth = 30;

std::string describe(const TestPlan& plan) {
  if (plan.mode == Mode::file) {
    return fmt::format("file {} ({}, {} tensors)", printable(plan.file_name),
                       format_bytes(plan.file_bytes), plan.transfers);
  }
  std::string shape;
  for (const std::uint64_t extent : plan.extents) {
    shape += fmt::format("{}{}", shape.empty() ? "" : "x", extent);
  }
  const std::string length =
      plan.transfers != 0
          ? fmt::format("{} transfer{}", plan.transfers, plan.transfers == 1 ? "" : "s")
          : fmt::format("{:g} sec", std::chrono::duration<double>(plan.time).count());
  return fmt::format("{} of {} tensors of shape {} ({} each), {} in flight", length,
                     to_string(plan.dtype), shape.empty() ? "scalar" : shape,
                     format_bytes(plan.bytes), plan.parallel);
}

std::string interval_text(double begin, double end, std::uint64_t bytes, double rate) {
  return fmt::format("{:7.2f}-{:<7.2f} sec  {:>13}  {:>14}", begin, end, format_bytes(bytes),
                     format_rate(rate));
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

class TextReporter : public Reporter {
 public:
  explicit TextReporter(Output& output) : output_(output), terminal_(output.terminal()) {}

  void on_listening(const std::vector<SocketAddress>& addresses, std::uint64_t test) override {
    std::string where;
    for (const SocketAddress& address : addresses) {
      where += fmt::format("{}{}", where.empty() ? "" : " and ", to_string(address));
    }
    print(
        fmt::format("{}\nServer listening on {} (UDP), test #{}\n{}\n", kRule, where, test, kRule));
  }
  void on_connecting(std::string_view host, std::uint16_t port) override {
    print(fmt::format("Connecting to host {}, port {}\n", printable(host), port));
  }

  void on_start(const StartInfo& info) override {
    print(fmt::format("Connected to {} from port {}, engine {}\n", to_string(info.remote),
                      info.local.port, info.engine));
    print(info.security == "none"
              ? "Security none: packets are neither encrypted nor authenticated\n"
              : fmt::format("The other end has proven to be {}; packets are sealed with {}\n",
                            printable(info.peer_identity, 300), info.cipher));
    both_ = info.plan.direction == Direction::both;
    at_client_ = info.at_client;
    const std::string rate =
        info.rate_bps == 0 ? ""
                           : fmt::format(" at {}", format_rate(static_cast<double>(info.rate_bps)));
    if (!info.controller.empty()) {
      print(fmt::format("Controller {}{}, datagrams of {} bytes so far\n", info.controller, rate,
                        info.max_datagram));
    }
    print(fmt::format("{}\n", describe(info.plan)));
    if (both_) print("Both ends send: TX leaves this end, RX arrives\n");
    if (info.plan.direction == Direction::reverse) {
      print(at_client_ ? "Reverse: the server sends\n" : "Reverse: this end sends\n");
    }
    heading_due_ = true;
  }

  void on_interval(const IntervalLine& line) override {
    if (heading_due_) {
      print(fmt::format(
          "{}Interval                    Transfer         Bitrate{}\n", both_ ? "        " : "",
          line.path || both_ ? "   Retransmitted    Lost     RTT ms       Window" : ""));
      heading_due_ = false;
    }
    const Interval& interval = line.interval;
    std::string text = role(line.sending);
    text += interval_text(std::chrono::duration<double>(interval.begin).count(),
                          std::chrono::duration<double>(interval.end).count(), interval.bytes,
                          interval.bits_per_second());
    if (line.path) {
      text += fmt::format("  {:>14}  {:>6}  {:>9.3f}  {:>11}",
                          format_bytes(line.path->retransmitted_bytes), line.path->packets_lost,
                          line.path->rtt_ms, format_bytes(line.path->congestion_window));
    }
    print(fmt::format("{}{}\n", text, interval.omitted ? "  (omitted)" : ""));
  }

  void on_progress(std::uint64_t bytes, std::uint64_t total, double seconds) override {
    if (!terminal_ || total == 0) return;
    const double share = std::min(1.0, static_cast<double>(bytes) / static_cast<double>(total));
    const auto filled = static_cast<std::size_t>(share * static_cast<double>(kBarWidth));
    const double rate = seconds > 0 ? 8.0 * static_cast<double>(bytes) / seconds : 0;
    const std::string left =
        rate > 0 ? fmt::format("{:.0f} s left",
                               8.0 * static_cast<double>(total - std::min(bytes, total)) / rate)
                 : "";
    // \x1b[K clears what a longer line left behind.
    output_.write(fmt::format("\r[{}{}] {:3.0f} %  {}  {}  {}\x1b[K", std::string(filled, '#'),
                              std::string(kBarWidth - filled, ' '), 100 * share,
                              format_bytes(bytes), format_rate(rate), left));
    bar_shown_ = true;
  }

  void on_end(const Summary& summary) override;
  void on_error(std::string_view text) override {
    clear_bar();
    output_.complain(fmt::format("error: {}", text));
  }
  void on_note(std::string_view text) override {
    clear_bar();
    output_.complain(text);
  }
  void record() override {
    recording_ = true;
    transcript_.clear();
  }
  Transcript take_transcript() override {
    recording_ = false;
    return {std::exchange(transcript_, {}), false};
  }

 private:
  void print(const std::string& text) {
    clear_bar();
    if (recording_ && transcript_.size() < kMessageMax) transcript_ += text;
    output_.write(text);
  }
  void clear_bar() {
    if (!bar_shown_) return;
    output_.write("\r\x1b[K");
    bar_shown_ = false;
  }
  /// iperf3's words for who sends, seen from this end.
  std::string role(bool sending) const {
    if (!both_) return {};
    return fmt::format("[{}X-{}]  ", sending ? 'T' : 'R', at_client_ ? 'C' : 'S');
  }
  void print_direction(const TestPlan& plan, const DirectionSummary& summary);
  void print_sender(const SenderReport& report);
  void print_verdict(const TestPlan& plan, const DirectionSummary& summary,
                     const ReceiverReport& report);

  Output& output_;
  bool terminal_;
  bool both_ = false;
  bool at_client_ = true;
  bool recording_ = false;
  std::string transcript_;
  bool bar_shown_ = false;
  bool heading_due_ = false;
};

void TextReporter::print_sender(const SenderReport& report) {
  std::string times;
  if (report.completed != 0) {
    times = fmt::format("; completion p50 {:.3f}  p90 {:.3f}  p99 {:.3f}  max {:.3f} ms",
                        report.p50_ms, report.p90_ms, report.p99_ms, report.max_ms);
  }
  print(fmt::format("Transfers   {} completed, {} failed{}\n", report.completed, report.failed,
                    times));
  if (!report.whole && report.packets_sent == 0) {
    print("Packets     not known: the connection was gone before they could be counted\n");
    return;
  }
  const std::string repair = report.repair_bytes == 0
                                 ? ""
                                 : fmt::format(", {} of repair", format_bytes(report.repair_bytes));
  print(fmt::format("Packets     {} sent, {} lost ({:.2g} %); {} retransmitted{}{}\n",
                    report.packets_sent, report.packets_lost,
                    percent(report.packets_lost, report.packets_sent),
                    format_bytes(report.retransmitted_bytes), repair,
                    report.whole ? "" : " (up to the last line above)"));
  print(fmt::format("RTT         min {:.3f}  smoothed {:.3f} ms\n", report.rtt_min_ms,
                    report.rtt_smoothed_ms));
}

void TextReporter::print_verdict(const TestPlan& plan, const DirectionSummary& summary,
                                 const ReceiverReport& report) {
  for (const std::string& problem : report.problems) {
    print(fmt::format("Problem     {}\n", printable(problem, 300)));
  }
  if (!report.output.empty()) {
    print(fmt::format("Output      {}{}\n", printable(report.output),
                      at_client_ ? " (on the server)" : ""));
  }
  const bool file = plan.mode == Mode::file;
  const std::uint64_t completed = report.digest_ok ? summary.completed() : report.completed;
  const std::string unit =
      fmt::format("{}{}", file ? "tensor" : "transfer", completed == 1 ? "" : "s");
  if (!file && summary.nothing_compared()) {
    print("no digest: nothing completed within the test\n");
  } else if (report.digest_ok) {
    // A timed test ends amid transfers: their bytes count, they do not.
    print(fmt::format("digest ok: {} {}{}, {} verified at the receiver\n", completed, unit,
                      file ? "" : " complete", format_bytes(report.bytes)));
  } else if (summary.sender && summary.sender->interrupted) {
    print(fmt::format("interrupted: {} {} had arrived, {} verified\n", completed, unit,
                      format_bytes(report.bytes)));
  } else {
    print(fmt::format("digest FAILED: {} {} arrived, {} failed\n", report.completed, unit,
                      report.failed));
  }
}

void TextReporter::print_direction(const TestPlan& plan, const DirectionSummary& summary) {
  const std::string tag = role(summary.sending);
  if (summary.local_seconds > 0 && (summary.sending || !summary.receiver)) {
    print(fmt::format(
        "{}{}  {}\n", tag,
        interval_text(0, summary.local_seconds, summary.local_bytes,
                      8.0 * static_cast<double>(summary.local_bytes) / summary.local_seconds),
        summary.sending ? "sent" : "received"));
  }
  if (summary.receiver) {
    print(fmt::format("{}{}  received and verified\n", tag,
                      interval_text(0, summary.receiver->seconds, summary.receiver->bytes,
                                    goodput_bps(*summary.receiver))));
  }
  if (summary.sender) print_sender(*summary.sender);
  if (summary.sender && summary.receiver) {
    print(
        fmt::format("CPU         sender {:.1f} %, receiver {:.1f} % of a core; peak memory {:.1f} "
                    "and {:.1f} MiB\n",
                    summary.sender->cpu_percent, summary.receiver->cpu_percent,
                    summary.sender->peak_rss_mib, summary.receiver->peak_rss_mib));
  }
  if (summary.receiver) print_verdict(plan, summary, *summary.receiver);
}

void TextReporter::on_end(const Summary& summary) {
  both_ = summary.directions.size() > 1;
  at_client_ = summary.at_client;
  print("- - - - - - - - - - - - - - - - - - - - - - - - - - - - - -\n");
  for (const DirectionSummary& direction : summary.directions) {
    print_direction(summary.plan, direction);
  }
  if (summary.server_output) {
    print(fmt::format("\nServer output:\n{}{}", summary.server_output->text,
                      summary.server_output->text.ends_with('\n') ? "" : "\n"));
  }
  if (!summary.error.empty()) on_error(summary.error);
}

}  // namespace

std::unique_ptr<Reporter> make_text_reporter(Output& output) {
  return std::make_unique<TextReporter>(output);
}

}  // namespace longhaul::apps::perf
