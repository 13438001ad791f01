// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/outgoing.hpp"

#include <algorithm>
#include <utility>

namespace longhaul::apps::perf {

namespace {

constexpr Duration kCancelTimeout = std::chrono::seconds(5);
constexpr Duration kIdleStep = std::chrono::milliseconds(200);
constexpr Duration kRetry = std::chrono::microseconds(200);

double to_ms(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

Outgoing::Outgoing(const TestPlan& plan, Connection connection, Source& source,
                   std::uint64_t rate_bps)
    : plan_(plan),
      connection_(connection),
      sender_(std::move(connection), source, plan.parallel, rate_bps),
      meter_(plan.interval, plan.omit) {}

void Outgoing::start(Clock::time_point now) {
  usage_.restart();
  counted_from_ = last_mark_ = connection_.stats().value_or(ConnectionStats{});
  meter_.start(now, 0);
}

Result<void> Outgoing::advance(Clock::time_point now, Reporter* reporter) {
  if (!started()) return {};
  if (!report_) {
    auto pumped = sender_.pump(now);
    if (!pumped) return tl::unexpected(std::move(pumped.error()));
    library_busy_ = !*pumped;
    // The last mark is often due together with the end; they are one.
    if (over(now)) {
      end(now);
    } else {
      const bool omitting = meter_.omitting();
      const auto interval = meter_.advance(now, sender_.bytes_left());
      if (interval) take_mark(*interval, reporter);
      if (omitting && !meter_.omitting()) {
        sender_.restart_times();
        usage_.restart();
        counted_from_ = last_mark_;
      }
    }
  }
  if (last_interval_) take_mark(*std::exchange(last_interval_, std::nullopt), reporter);
  return {};
}

bool Outgoing::over(Clock::time_point now) const {
  if (sender_.failed() != 0 || sender_.exhausted()) return true;
  return plan_.time.count() != 0 && !meter_.omitting() && now >= meter_.counted_from() + plan_.time;
}

void Outgoing::interrupt(Clock::time_point now) {
  interrupted_ = true;
  end(now);
}

void Outgoing::abandon(Clock::time_point now) {
  if (started()) end(now);
  sender_.stop();
}

void Outgoing::end(Clock::time_point now) {
  if (report_) return;
  last_interval_ = meter_.finish(now, sender_.bytes_left());
  report_ = make_report();
  ended_ = now;
  sender_.stop();
}

bool Outgoing::report_due(Clock::time_point now) const {
  return report_ && (sender_.idle() || now >= ended_ + kCancelTimeout);
}

void Outgoing::take_mark(const Interval& interval, Reporter* reporter) {
  IntervalLine line{interval, true, std::nullopt};
  if (const auto stats = connection_.stats()) {
    line.path = IntervalLine::Path{stats->packets_lost - last_mark_.packets_lost,
                                   stats->retransmitted_bytes - last_mark_.retransmitted_bytes,
                                   stats->congestion_window, to_ms(stats->smoothed_rtt)};
    last_mark_ = *stats;
  }
  if (reporter != nullptr && plan_.interval.count() != 0) reporter->on_interval(line);
}

Clock::time_point Outgoing::next_look(Clock::time_point now) const {
  if (!started() || report_) return now + kIdleStep;
  Clock::time_point next = now + (library_busy_ ? kRetry : kIdleStep);
  if (const auto pace = sender_.pace()) next = std::min(next, now + *pace);
  if (const auto mark = meter_.next_mark()) next = std::min(next, *mark);
  if (plan_.time.count() != 0 && !meter_.omitting()) {
    next = std::min(next, meter_.counted_from() + plan_.time);
  }
  return next;
}

SenderReport Outgoing::make_report() {
  SenderReport report;
  report.interrupted = interrupted_;
  report.completed = sender_.times().count();
  report.failed = sender_.failed();
  const LatencyHistogram& times = sender_.times();
  report.p50_ms = to_ms(times.percentile(50));
  report.p90_ms = to_ms(times.percentile(90));
  report.p99_ms = to_ms(times.percentile(99));
  report.max_ms = to_ms(times.max());
  // A connection that has ended answers no more: the last mark is what is known.
  const auto asked = connection_.stats();
  const ConnectionStats& stats = asked ? *asked : last_mark_;
  report.packets_sent = stats.packets_sent - counted_from_.packets_sent;
  report.packets_lost = stats.packets_lost - counted_from_.packets_lost;
  report.retransmitted_bytes = stats.retransmitted_bytes - counted_from_.retransmitted_bytes;
  report.repair_bytes = stats.repair_bytes - counted_from_.repair_bytes;
  report.rtt_min_ms = to_ms(stats.min_rtt);
  report.rtt_smoothed_ms = to_ms(stats.smoothed_rtt);
  report.cpu_percent = usage_.cpu_percent();
  report.peak_rss_mib = usage_.peak_rss_mib();
  report.whole = asked.has_value();
  return report;
}

}  // namespace longhaul::apps::perf
