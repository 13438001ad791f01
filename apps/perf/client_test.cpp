// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/client_test.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/common/units.hpp"
#include "apps/perf/cookie.hpp"
#include "apps/perf/endpoint_setup.hpp"

namespace longhaul::apps::perf {

namespace {

constexpr Duration kReadyTimeout = std::chrono::seconds(60);
constexpr Duration kCancelTimeout = std::chrono::seconds(5);
// What an interrupted client grants the server to answer with its results.
constexpr Duration kFarewell = std::chrono::seconds(2);
constexpr Duration kProgressStep = std::chrono::milliseconds(100);
constexpr Duration kIdleStep = std::chrono::milliseconds(200);
constexpr Duration kRetry = std::chrono::microseconds(200);

double to_ms(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

ClientTest::ClientTest(const Options& options, Workload& workload, EventLoop& loop,
                       Reporter& reporter, Endpoint& endpoint, Connection connection)
    : options_(options),
      workload_(workload),
      loop_(loop),
      reporter_(reporter),
      endpoint_(endpoint),
      connection_(connection),
      control_(connection),
      sender_(connection, *workload.source, workload.plan.parallel),
      meter_(workload.plan.interval, workload.plan.omit) {}

Result<int> ClientTest::run() {
  auto outcome = negotiate();
  if (outcome) outcome = transfer();
  if (outcome) outcome = collect();
  if (!outcome && meter_.started() && !sent_) {
    // What is known so far is still worth a summary.
    meter_.finish(Clock::now(), sender_.bytes_left());
    sent_ = sender_report();
  }
  const std::string_view farewell = interrupted_ ? "the client was interrupted"
                                    : outcome    ? "the test is over"
                                                 : "test failed";
  static_cast<void>(connection_.close(farewell));
  if (!sent_) return tl::unexpected(std::move(outcome.error()));
  report(outcome ? std::string() : explain(outcome.error()));
  const bool good = outcome && received_ && received_->digest_ok && sender_.failed() == 0;
  return good && !interrupted_ ? 0 : 1;
}

Result<void> ClientTest::negotiate() {
  if (auto started = control_.start(); !started) return started;
  if (auto sent = control_.send(to_message(workload_.plan)); !sent) return sent;
  if (workload_.file) {
    auto sent = control_.send_blob(kHeaderTag, workload_.file->raw_header());
    if (!sent) return sent;
  }
  const Clock::time_point deadline = Clock::now() + kReadyTimeout;
  while (!ready_) {
    if (Clock::now() >= deadline) {
      return fail(ErrorCode::timed_out,
                  "the server answers no test request; is it longhaul-perf -s of this release?");
    }
    if (auto stepped = step(deadline); !stepped) return stepped;
    if (interrupted_) return fail(ErrorCode::closed, "interrupted before the test began");
  }
  return {};
}

Result<void> ClientTest::transfer() {
  const ConnectionStats stats = connection_.stats().value_or(ConnectionStats{});
  reporter_.on_start({endpoint_.local_address(), connection_.remote_address(), workload_.plan,
                      stats.controller, options_.rate_bps, stats.max_datagram, 0,
                      endpoint_.stats().value_or(EndpointStats{}).engine});
  if (auto sent = control_.send(simple_message(kind::go)); !sent) return sent;
  usage_.restart();
  counted_from_ = last_mark_ = stats;
  meter_.start(Clock::now(), 0);
  for (;;) {
    auto pumped = sender_.pump();
    if (!pumped) return tl::unexpected(std::move(pumped.error()));
    if (over()) break;
    if (auto stepped = step(next_look(!*pumped)); !stepped) return stepped;
    // The last mark is often due together with the end; they are one.
    if (over()) break;
    advance_meter();
    show_progress();
  }
  if (const auto rest = meter_.finish(Clock::now(), sender_.bytes_left())) print_interval(*rest);
  sent_ = sender_report();
  return {};
}

bool ClientTest::over() const {
  if (interrupted_ || sender_.failed() != 0 || sender_.exhausted()) return true;
  const Duration time = workload_.plan.time;
  return time.count() != 0 && !meter_.omitting() && Clock::now() >= meter_.counted_from() + time;
}

Clock::time_point ClientTest::next_look(bool library_busy) const {
  Clock::time_point next = Clock::now() + (library_busy ? kRetry : kIdleStep);
  if (const auto mark = meter_.next_mark()) next = std::min(next, *mark);
  if (workload_.plan.time.count() != 0 && !meter_.omitting()) {
    next = std::min(next, meter_.counted_from() + workload_.plan.time);
  }
  if (workload_.file) next = std::min(next, next_progress_);
  return next;
}

void ClientTest::advance_meter() {
  const bool omitting = meter_.omitting();
  const auto interval = meter_.advance(Clock::now(), sender_.bytes_left());
  if (!interval) return;
  print_interval(*interval);
  if (omitting && !meter_.omitting()) {
    sender_.restart_times();
    usage_.restart();
    counted_from_ = last_mark_;
  }
}

void ClientTest::print_interval(const Interval& interval) {
  IntervalLine line{interval, std::nullopt};
  if (const auto stats = connection_.stats()) {
    line.path = IntervalLine::Path{stats->packets_lost - last_mark_.packets_lost,
                                   stats->retransmitted_bytes - last_mark_.retransmitted_bytes,
                                   stats->congestion_window, to_ms(stats->smoothed_rtt)};
    last_mark_ = *stats;
  }
  if (workload_.plan.interval.count() != 0) reporter_.on_interval(line);
}

void ClientTest::show_progress() {
  if (!workload_.file || Clock::now() < next_progress_) return;
  next_progress_ = Clock::now() + kProgressStep;
  const auto seconds = std::chrono::duration<double>(Clock::now() - meter_.counted_from()).count();
  reporter_.on_progress(sender_.bytes_left(), workload_.file->header.data_bytes, seconds);
}

Result<void> ClientTest::collect() {
  sender_.stop();
  const Clock::time_point cancel_deadline = Clock::now() + kCancelTimeout;
  while (!sender_.idle() && Clock::now() < cancel_deadline) {
    if (auto stepped = step(cancel_deadline); !stepped) return stepped;
  }
  if (auto sent = control_.send(to_message(*sent_)); !sent) return sent;
  if (workload_.file) {
    if (auto sent = control_.send_blob(kDigestTag, workload_.digests); !sent) return sent;
  }
  // The server may have a file to flush, which takes as long as its disk needs; Ctrl-C ends that.
  std::optional<Clock::time_point> deadline;
  while (!received_) {
    if (interrupted_ && !deadline) deadline = Clock::now() + kFarewell;
    if (deadline && Clock::now() >= *deadline) {
      return fail(ErrorCode::closed, "interrupted, and the server sent no results in time");
    }
    if (auto stepped = step(deadline.value_or(Clock::now() + kIdleStep)); !stepped) return stepped;
  }
  return {};
}

void ClientTest::report(std::string error) {
  Summary summary;
  summary.sending = true;
  summary.plan = workload_.plan;
  summary.sender = sent_;
  summary.receiver = received_;
  summary.local_bytes = meter_.bytes();
  summary.local_seconds = std::chrono::duration<double>(meter_.duration()).count();
  summary.error = std::move(error);
  // With a broken connection the transfers only repeat what its end says.
  if (summary.error.empty() && !sender_.first_failure().empty()) {
    summary.error = fmt::format("a transfer ended {}", sender_.first_failure());
  }
  if (interrupted_ && summary.error.empty()) summary.error = "the client was interrupted";
  reporter_.on_end(summary);
}

Result<void> ClientTest::step(Clock::time_point until) {
  if (control_.waiting()) until = std::min(until, Clock::now() + kRetry);
  loop_.run_once(until, [this](Endpoint&, const Completion& completion) { handle(completion); });
  if (auto flushed = control_.flush(); !flushed && !failure_) set_failure(flushed.error());
  if (loop_.interrupted()) interrupted_ = true;
  if (failure_) return tl::unexpected(*failure_);
  return {};
}

void ClientTest::handle(const Completion& completion) {
  if (completion.kind == Completion::Kind::disconnected) {
    // The results may have come with the same batch, right before the server's close.
    if (received_) return;
    const std::string reason = printable(connection_.reason());
    set_failure(
        {ErrorCode::closed, 0,
         fmt::format("the connection ended ({}{}{})", longhaul::to_string(connection_.status()),
                     reason.empty() ? "" : ": ", reason)});
    return;
  }
  if (completion.kind != Completion::Kind::transfer) return;
  if (purpose_of(completion.cookie) == Purpose::data_send) {
    sender_.on_completion(completion);
    return;
  }
  auto event = control_.on_completion(completion);
  // Requests that end because the connection does are explained by `disconnected`, right behind.
  if (!event && (completion.status == Status::completed || !is_terminal(connection_.status())))
    set_failure(std::move(event.error()));
  if (event && event->message) handle_message(*event->message);
}

void ClientTest::handle_message(const Json& message) {
  const std::string kind = kind_of(message);
  if (kind == kind::ready) {
    ready_ = true;
  } else if (kind == kind::results) {
    auto report = receiver_report_from(message);
    if (!report) return set_failure(std::move(report.error()));
    received_ = std::move(*report);
  } else if (kind == kind::error) {
    set_failure({ErrorCode::refused, 0, fmt::format("the server says: {}", error_text(message))});
  } else {
    set_failure({ErrorCode::invalid_argument, 0,
                 fmt::format("the server sent a message \"{}\" that means nothing here",
                             printable(kind, 40))});
  }
}

void ClientTest::set_failure(Error error) {
  if (!failure_) failure_ = std::move(error);
}

SenderReport ClientTest::sender_report() {
  SenderReport report;
  report.interrupted = interrupted_;
  report.completed = sender_.times().count();
  report.failed = sender_.failed();
  const LatencyHistogram& times = sender_.times();
  report.p50_ms = to_ms(times.percentile(50));
  report.p90_ms = to_ms(times.percentile(90));
  report.p99_ms = to_ms(times.percentile(99));
  report.max_ms = to_ms(times.max());
  const ConnectionStats stats = connection_.stats().value_or(last_mark_);
  report.packets_sent = stats.packets_sent - counted_from_.packets_sent;
  report.packets_lost = stats.packets_lost - counted_from_.packets_lost;
  report.retransmitted_bytes = stats.retransmitted_bytes - counted_from_.retransmitted_bytes;
  report.repair_bytes = stats.repair_bytes - counted_from_.repair_bytes;
  report.rtt_min_ms = to_ms(stats.min_rtt);
  report.rtt_smoothed_ms = to_ms(stats.smoothed_rtt);
  report.cpu_percent = usage_.cpu_percent();
  report.peak_rss_mib = usage_.peak_rss_mib();
  return report;
}

}  // namespace longhaul::apps::perf
