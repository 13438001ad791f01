// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/datagram.hpp"
#include "lib/base/interval_set.hpp"
#include "lib/wire/frame.hpp"
#include "longhaul/time.hpp"

namespace longhaul::recovery {

/// How eagerly a space acknowledges; follows the path.
struct AckTiming {
  Duration delay_max = std::chrono::microseconds(500);  ///< an ack-eliciting packet waits no longer
  Duration spacing_min = std::chrono::microseconds(50);    ///< between ACKs that gaps ask for
  Duration batch_spacing = std::chrono::microseconds(50);  ///< between ACKs that counts ask for
  std::uint32_t packets = 64;  ///< that many unacknowledged ask for an ACK
  Duration list_spacing_min =
      std::chrono::milliseconds(1);  ///< between reports that list more gaps than fit two datagrams
};

/// Receiver's half of one packet-number space: what arrived, what to report and when.
///
/// A sender may leave gaps and never raise its floor, so memory and reports are bounded: of more
/// than `runs_max` runs of numbers the oldest are forgotten, which makes them part of a gap, and
/// what reports say costs credit that arrivals earn. The sender learns in any case that it has to
/// send again what no report has acknowledged.
class ReceiveSpace {
 public:
  explicit ReceiveSpace(std::size_t runs_max = kRunsMin) noexcept : runs_max_(runs_max) {}
  /// A bound for lines where less need not be remembered.
  static constexpr std::size_t kRunsMin = 4096;
  /// Bytes of memory a run may cost: in the set and in a report, either vector up to half empty.
  static constexpr std::size_t kRunBytes = 2 * (sizeof(base::Interval) + sizeof(wire::Gap));

  /// False if the number was received before, lies below the floor or among what was forgotten;
  /// the packet must then be ignored.
  bool is_new(std::uint64_t number) const noexcept;
  /// ~0 before the first packet, so that +1 is the next number expected.
  std::uint64_t largest() const noexcept { return next_expected_ - 1; }

  struct Arrival {
    std::uint64_t number = 0;
    std::size_t size = 0;  ///< UDP payload
    base::Ecn ecn = base::Ecn::not_ect;
    bool ack_eliciting = false;
    bool urgent = false;  ///< a tail marker or another packet that wants an answer at once
  };
  /// Precondition: is_new(arrival.number).
  void on_received(Timestamp now, const Arrival& arrival, const AckTiming& timing);
  /// The sender has settled everything below.
  void set_floor(std::uint64_t floor);

  /// When an ACK is due; kNever if nothing asks for one.
  Timestamp ack_due() const noexcept { return ack_due_; }
  /// Starts a report: fills `ack` but for its interval's gaps, which stay in `gaps()`.
  /// Normally the newest part only; everything above the floor from time to time and after an old
  /// gap was filled, as far as credit and spacing allow.
  void begin_ack(Timestamp now, wire::Ack& ack);
  /// The report has been sent, or begun.
  void end_ack(Timestamp now) noexcept;
  /// So many bytes of a report were written.
  void spend(std::size_t bytes) noexcept { credit_ -= static_cast<std::int64_t>(bytes); }

  std::uint64_t packets() const noexcept { return packets_; }

 private:
  void note_new_gap(Timestamp now, std::uint64_t begin, const Arrival& arrival,
                    const AckTiming& timing);
  void note_late(Timestamp now, const Arrival& arrival, const AckTiming& timing);
  void ask(Timestamp when) noexcept;
  std::size_t newest_runs() const noexcept;
  void earn(Timestamp now, std::size_t bytes) noexcept;
  void forget_oldest();
  std::size_t gaps_affordable() const noexcept;
  bool may_list_all(Timestamp now) const noexcept;

  static constexpr std::int64_t kCreditAtFirst = 64 << 10;

  struct RecentGap {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    Timestamp seen_at{};
  };

  std::size_t runs_max_;
  base::IntervalSet received_;  // at and above floor_ and forgotten_
  std::uint64_t floor_ = 0;
  std::uint64_t forgotten_ = 0;  // nothing below is known any more
  std::uint64_t next_expected_ = 0;
  Timestamp largest_at_{};
  std::uint64_t packets_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t ce_ = 0;

  std::vector<RecentGap> recent_gaps_;  // ring, oldest overwritten
  std::size_t recent_next_ = 0;
  Duration lateness_now_{};
  Duration lateness_before_{};
  Timestamp lateness_turned_at_{};

  Duration interarrival_{};
  Timestamp last_arrival_{};
  std::uint32_t unacknowledged_ = 0;
  Timestamp ack_due_ = kNever;
  Timestamp last_ack_{};
  std::uint32_t partial_acks_ = 0;
  bool untold_ = false;  // something that only a full report tells
  Timestamp last_list_{};
  Duration list_spacing_min_{};
  std::int64_t credit_ = kCreditAtFirst;
  std::uint64_t reported_from_ = 0;  // where the last report's interval began
  std::uint64_t reported_to_ = 0;    // one past its largest
  std::vector<wire::Gap> gaps_;
};

}  // namespace longhaul::recovery
