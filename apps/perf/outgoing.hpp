// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "apps/common/process_usage.hpp"
#include "apps/perf/intervals.hpp"
#include "apps/perf/messages.hpp"
#include "apps/perf/plan.hpp"
#include "apps/perf/report.hpp"
#include "apps/perf/sender.hpp"
#include "apps/perf/source.hpp"
#include "longhaul/connection.hpp"

namespace longhaul::apps::perf {

/// The tensors this end of a test sends: kept in flight until the plan, the other end or a fault
/// says stop, counted between marks, and reported.
class Outgoing {
 public:
  /// `source` must outlive this. `rate_bps`: see `Sender`.
  Outgoing(const TestPlan& plan, Connection connection, Source& source, std::uint64_t rate_bps);

  void start(Clock::time_point now);
  bool started() const noexcept { return meter_.started(); }
  /// Starts what there is room for, takes a mark that is due and ends when it is time to. The line
  /// of a mark goes to `reporter` if there is one.
  Result<void> advance(Clock::time_point now, Reporter* reporter);
  /// For completions with Purpose::data_send.
  void on_completion(const Completion& completion) { sender_.on_completion(completion); }
  /// Ends it now: the operator, or the other end on his behalf, wants no more.
  void interrupt(Clock::time_point now);
  /// The test has failed: takes the last mark and cancels what is in flight.
  void abandon(Clock::time_point now);

  /// Ended, and nothing of it is in flight: the report can go. A library that does not give
  /// cancelled transfers back in time does not hold it up.
  bool report_due(Clock::time_point now) const;
  bool idle() const noexcept { return sender_.idle(); }
  /// Nothing until it has ended.
  const std::optional<SenderReport>& report() const noexcept { return report_; }
  const std::string& first_failure() const noexcept { return sender_.first_failure(); }
  std::uint64_t failed() const noexcept { return sender_.failed(); }
  std::uint64_t bytes_left() const { return sender_.bytes_left(); }
  const IntervalMeter& meter() const noexcept { return meter_; }
  Clock::time_point next_look(Clock::time_point now) const;

 private:
  bool over(Clock::time_point now) const;
  void end(Clock::time_point now);
  void take_mark(const Interval& interval, Reporter* reporter);
  SenderReport make_report();

  const TestPlan& plan_;
  Connection connection_;
  Sender sender_;
  IntervalMeter meter_;
  ProcessUsage usage_;
  ConnectionStats counted_from_;  ///< when the omitted time ended
  ConnectionStats last_mark_;
  bool library_busy_ = false;
  bool interrupted_ = false;
  std::optional<Interval> last_interval_;  ///< its line is not printed yet
  std::optional<SenderReport> report_;
  Clock::time_point ended_{};
};

}  // namespace longhaul::apps::perf
