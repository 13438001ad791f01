// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/common/process_usage.hpp"
#include "apps/perf/intervals.hpp"
#include "apps/perf/messages.hpp"
#include "apps/perf/plan.hpp"
#include "apps/perf/receiver.hpp"
#include "apps/perf/report.hpp"
#include "apps/perf/sink.hpp"

namespace longhaul::apps::perf {

/// The tensors this end of a test receives: receives posted ahead, verified bytes counted between
/// marks, compared at the end, and reported.
class Incoming {
 public:
  /// `sink` must outlive this. `output` is the file it writes, empty if none.
  Incoming(const TestPlan& plan, Connection connection, Sink& sink, std::string output);

  /// Posts what the sink has memory for.
  Result<void> post();
  /// The first mark: now, or if bytes have arrived meanwhile, when there were none yet.
  void start(Clock::time_point now);
  /// Whether a byte has arrived, asked at `now`.
  bool arriving(Clock::time_point now);
  bool started() const noexcept { return meter_.started(); }
  /// Starts with the first byte if nothing did before, posts, takes a mark that is due and does a
  /// step of the sink's work.
  Result<void> advance(Clock::time_point now, Reporter* reporter);
  /// For completions with Purpose::data_receive.
  void on_completion(const Completion& completion) { receiver_.on_completion(completion); }
  void on_sender_report(SenderReport report) { sender_report_ = std::move(report); }
  void on_digests() noexcept { digests_here_ = true; }
  /// The test has failed: takes the last mark, cancels what is posted and undoes what is visible.
  void abandon(Clock::time_point now);

  /// Everything the sender spoke of has ended here.
  bool complete() const;
  /// Compares, makes the result permanent, and has the report ready. Once, when complete.
  Result<void> conclude(std::span<const std::byte> digests);

  bool idle() const noexcept { return receiver_.idle(); }
  /// The sender's, once it came.
  const std::optional<SenderReport>& sender_report() const noexcept { return sender_report_; }
  /// Nothing until concluded.
  const std::optional<ReceiverReport>& report() const noexcept { return report_; }
  std::uint64_t placed_bytes() const { return receiver_.placed_bytes(); }
  bool working() const noexcept { return work_left_; }
  const IntervalMeter& meter() const noexcept { return meter_; }
  Clock::time_point next_look(Clock::time_point now) const;

 private:
  void measure(Clock::time_point now, Reporter* reporter);
  void keep(const std::optional<Interval>& interval, Reporter* reporter);

  const TestPlan& plan_;
  Sink& sink_;
  std::string output_;
  Receiver receiver_;
  IntervalMeter meter_;
  ProcessUsage usage_;
  double cpu_percent_ = 0;
  double peak_rss_mib_ = 0;
  std::vector<Interval> intervals_;
  std::optional<SenderReport> sender_report_;
  std::optional<ReceiverReport> report_;
  bool digests_here_;
  bool work_left_ = false;
  bool post_again_ = false;
  std::optional<Clock::time_point> nothing_at_;  // when nothing had arrived, last
};

}  // namespace longhaul::apps::perf
