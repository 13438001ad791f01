// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/common/latency_histogram.hpp"
#include "apps/perf/intervals.hpp"
#include "apps/perf/source.hpp"
#include "longhaul/connection.hpp"
#include "longhaul/transfer.hpp"

namespace longhaul::apps::perf {

/// Keeps a number of transfers of a source in flight and takes the time of each, from the call of
/// `send_tensor` to its completion.
class Sender {
 public:
  /// `rate_bps` limits the tensor bits that may leave a second, on average since the first `pump`;
  /// 0 = as fast as the connection allows.
  Sender(Connection connection, Source& source, std::uint32_t parallel, std::uint64_t rate_bps = 0);

  /// Starts as many transfers as there is room for, and lets leave of them what the rate allows by
  /// now. False when the library asked to come back.
  Result<bool> pump(Clock::time_point now);
  /// How long after a `pump` the next one is due because of the rate; nothing without one.
  std::optional<Duration> pace() const noexcept;
  /// For completions with Purpose::data_send.
  void on_completion(const Completion& completion);
  /// Starts nothing more and cancels what is in flight; that counts as neither good nor bad.
  void stop();
  /// From now on completions count (the omitted time is over).
  void restart_times();

  bool idle() const noexcept { return in_flight_ == 0; }
  /// All of the source has been sent and has ended.
  bool exhausted() const noexcept { return no_more_ && idle(); }
  /// Tensor bytes that have left, each once.
  std::uint64_t bytes_left() const;
  std::uint64_t completed() const noexcept { return completed_; }
  std::uint64_t failed() const noexcept { return failed_; }
  /// What the first failed transfer ended with; empty if none did.
  const std::string& first_failure() const noexcept { return first_failure_; }
  const LatencyHistogram& times() const noexcept { return times_; }

 private:
  struct Slot {
    Transfer transfer;
    Clock::time_point started;
    std::uint64_t bytes = 0;
    std::uint64_t begin = 0;    ///< of its bytes among all that were started
    std::uint64_t allowed = 0;  ///< of its bytes to leave
    bool counts = true;         ///< started after the omitted time
  };

  Result<bool> start(const Source::Item& item);
  bool allow(Clock::time_point now);

  Connection connection_;
  Source& source_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::optional<Source::Item> waiting_;  ///< the library had no room for it
  std::uint64_t rate_bps_;
  std::optional<Clock::time_point> first_pump_;
  std::uint64_t started_bytes_ = 0;
  std::uint32_t in_flight_ = 0;
  bool no_more_ = false;
  bool stopping_ = false;
  std::uint64_t ended_bytes_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t failed_ = 0;
  std::string first_failure_;
  LatencyHistogram times_;
};

}  // namespace longhaul::apps::perf
