// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/incoming.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace longhaul::apps::perf {

namespace {

// While waiting for the first byte, which may overtake `go`.
constexpr Duration kFirstByteStep = std::chrono::milliseconds(1);
constexpr Duration kRetry = std::chrono::microseconds(200);
constexpr Duration kIdleStep = std::chrono::milliseconds(200);

}  // namespace

Incoming::Incoming(const TestPlan& plan, Connection connection, Sink& sink, std::string output)
    : plan_(plan),
      sink_(sink),
      output_(std::move(output)),
      receiver_(std::move(connection), sink),
      meter_(plan.interval, plan.omit),
      digests_here_(plan.mode == Mode::stream) {}

Result<void> Incoming::post() {
  auto posted = receiver_.post();
  if (!posted) return tl::unexpected(std::move(posted.error()));
  post_again_ = !*posted;
  return {};
}

bool Incoming::arriving(Clock::time_point now) {
  if (receiver_.placed_bytes() != 0) return true;
  nothing_at_ = now;
  return false;
}

// The bytes that came in between count, so their time does too: a small test is over in one look.
void Incoming::start(Clock::time_point now) {
  if (started()) return;
  usage_.restart();
  meter_.start(arriving(now) ? nothing_at_.value_or(now) : now, 0);
}

Result<void> Incoming::advance(Clock::time_point now, Reporter* reporter) {
  if (report_) return {};
  if (auto posted = post(); !posted) return posted;
  if (!started() && arriving(now)) start(now);
  if (!started()) return {};
  measure(now, reporter);
  auto more = sink_.work();
  if (!more) return tl::unexpected(std::move(more.error()));
  work_left_ = *more;
  return {};
}

void Incoming::measure(Clock::time_point now, Reporter* reporter) {
  if (meter_.finished()) return;
  const bool omitting = meter_.omitting();
  const bool time_is_up =
      plan_.time.count() != 0 && !omitting && now >= meter_.counted_from() + plan_.time;
  const std::uint64_t verified = receiver_.verified_bytes();
  if (!time_is_up && !receiver_.all_ended() && !sender_report_) {
    keep(meter_.advance(now, verified), reporter);
    if (omitting && !meter_.omitting()) usage_.restart();
    return;
  }
  keep(meter_.finish(now, verified), reporter);
  // What follows, such as flushing a file, is not part of the measurement.
  cpu_percent_ = usage_.cpu_percent();
  peak_rss_mib_ = usage_.peak_rss_mib();
}

void Incoming::keep(const std::optional<Interval>& interval, Reporter* reporter) {
  if (!interval || plan_.interval.count() == 0) return;
  if (intervals_.size() < kIntervalsMax) intervals_.push_back(*interval);
  if (reporter != nullptr) reporter->on_interval({*interval, false, std::nullopt});
}

bool Incoming::complete() const {
  if (!sender_report_ || !digests_here_ || work_left_ || !meter_.finished()) return false;
  return !sink_.expected() || receiver_.all_ended() || sender_report_->interrupted ||
         sender_report_->failed != 0;
}

Result<void> Incoming::conclude(std::span<const std::byte> digests) {
  ReceiverReport report;
  report.bytes = meter_.bytes();
  report.seconds = std::chrono::duration<double>(meter_.duration()).count();
  report.completed = receiver_.completed();
  report.failed = receiver_.failed();
  report.intervals = intervals_;
  report.cpu_percent = cpu_percent_;
  report.peak_rss_mib = peak_rss_mib_;
  receiver_.stop();
  if (!receiver_.first_failure().empty()) {
    report.problems.push_back(fmt::format("a transfer ended {}", receiver_.first_failure()));
  }
  if (sender_report_->failed != 0) report.problems.emplace_back("transfers failed at the sender");
  if (report.completed == 0 && plan_.transfers != 0) {
    report.problems.emplace_back("nothing arrived");
  }
  if (auto concluded = sink_.conclude(digests, report.problems); !concluded) return concluded;
  report.digest_ok = report.problems.empty();
  if (!report.digest_ok) sink_.discard();
  if (report.digest_ok && plan_.mode == Mode::file) report.output = output_;
  report_ = std::move(report);
  return {};
}

void Incoming::abandon(Clock::time_point now) {
  if (started() && !meter_.finished()) meter_.finish(now, receiver_.verified_bytes());
  receiver_.stop();
  sink_.discard();
}

Clock::time_point Incoming::next_look(Clock::time_point now) const {
  if (report_) return now + kIdleStep;
  if (work_left_) return now;
  if (!started()) return now + (post_again_ ? kRetry : kFirstByteStep);
  Clock::time_point next = now + (post_again_ ? kRetry : kIdleStep);
  if (const auto mark = meter_.next_mark()) next = std::min(next, *mark);
  if (plan_.time.count() != 0 && !meter_.omitting() && !meter_.finished()) {
    next = std::min(next, meter_.counted_from() + plan_.time);
  }
  return next;
}

}  // namespace longhaul::apps::perf
