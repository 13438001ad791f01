// SPDX-License-Identifier: Apache-2.0
#include "lib/recovery/receive_space.hpp"

#include <algorithm>

namespace longhaul::recovery {
namespace {

// Gaps remembered with the time they became visible: enough for 5 ms of reordering at 1 Gbit/s ten
// times over; beyond that lateness is underestimated, never wrong.
constexpr std::size_t kRecentGaps = 4096;
// A report normally lists that many of the newest gaps; the older ones were told several times.
constexpr std::size_t kNewestGaps = 48;
// Every so many reports tell everything above the floor.
constexpr std::uint32_t kFullEvery = 8;
// What a gap takes in an ACK, about: two variable-length integers.
constexpr std::int64_t kGapBytes = 4;
// Gaps that fit two datagrams: to list them costs little more than any other report.
constexpr std::size_t kShortList = 512;
// Packets of data earn hundreds of times what the gaps between them cost. A sender that only probes
// while it waits for a long list gets it by this, soon enough for it and too slow for an attack.
constexpr std::int64_t kCreditPerSecond = 128 << 10;
constexpr Duration kCreditSpan = std::chrono::seconds(1);
// Saved credit is worth so many reports of everything.
constexpr std::int64_t kListsSaved = 4;
// Forgotten at once, so that the others are moved rarely.
constexpr std::size_t kForgottenShare = 8;
// Lateness is the largest of this and the previous span; the sender remembers longer.
constexpr Duration kLatenessSpan = std::chrono::milliseconds(100);
constexpr Duration kGapDelayMin = std::chrono::microseconds(20);
constexpr Duration kGapDelayMax = std::chrono::milliseconds(1);

}  // namespace

bool ReceiveSpace::is_new(std::uint64_t number) const noexcept {
  return number >= next_expected_ ||
         (number >= std::max(floor_, forgotten_) && !received_.contains(number));
}

void ReceiveSpace::ask(Timestamp when) noexcept {
  ack_due_ = std::min(ack_due_, when);
}

void ReceiveSpace::on_received(Timestamp now, const Arrival& arrival, const AckTiming& timing) {
  earn(now, arrival.size);
  list_spacing_min_ = timing.list_spacing_min;
  ++packets_;
  bytes_ += arrival.size;
  if (arrival.ecn == base::Ecn::ce) ++ce_;
  if (packets_ > 1) interarrival_ += (now - last_arrival_ - interarrival_) / 16;
  last_arrival_ = now;

  // Its own frames may have put the floor above it.
  if (arrival.number >= floor_) received_.insert(arrival.number, arrival.number + 1);
  if (arrival.number >= next_expected_) {
    if (arrival.number > next_expected_) note_new_gap(now, next_expected_, arrival, timing);
    next_expected_ = arrival.number + 1;
    largest_at_ = now;
  } else {
    note_late(now, arrival, timing);
  }
  if (received_.intervals().size() > runs_max_) forget_oldest();

  if (arrival.urgent) ask(now);
  if (!arrival.ack_eliciting) return;
  ++unacknowledged_;
  ask(now + timing.delay_max);
  if (unacknowledged_ >= timing.packets) ask(std::max(now, last_ack_ + timing.batch_spacing));
}

void ReceiveSpace::earn(Timestamp now, std::size_t bytes) noexcept {
  const std::int64_t most =
      std::max(kCreditAtFirst, kListsSaved * kGapBytes * static_cast<std::int64_t>(runs_max_));
  const Duration waited = packets_ > 0 ? std::min(now - last_arrival_, kCreditSpan) : Duration{};
  const std::int64_t earned =
      static_cast<std::int64_t>(bytes) + waited / (kCreditSpan / kCreditPerSecond);
  credit_ = std::min(credit_ + earned, most);
}

void ReceiveSpace::forget_oldest() {
  const auto runs = received_.intervals();
  forgotten_ = runs[std::max<std::size_t>(runs.size() / kForgottenShare, 1)].begin;
  received_.erase(0, forgotten_);
}

// A gap is worth reporting once three more packets could have followed it: earlier, the sender
// would not yet believe it.
void ReceiveSpace::note_new_gap(Timestamp now, std::uint64_t begin, const Arrival& arrival,
                                const AckTiming& timing) {
  const RecentGap gap{begin, arrival.number, now};
  if (recent_gaps_.size() < kRecentGaps) {
    recent_gaps_.push_back(gap);
  } else {
    recent_gaps_[recent_next_] = gap;
    recent_next_ = (recent_next_ + 1) % kRecentGaps;
  }
  // Gaps among packets that want no answer (the peer's own ACKs) are nobody's business.
  if (!arrival.ack_eliciting) return;
  const Duration wait = std::clamp(4 * interarrival_, kGapDelayMin, kGapDelayMax);
  ask(std::max(now + wait, last_ack_ + timing.spacing_min));
}

void ReceiveSpace::note_late(Timestamp now, const Arrival& arrival, const AckTiming& timing) {
  const std::uint64_t number = arrival.number;
  if (number < reported_from_) untold_ = true;
  if (arrival.ack_eliciting) ask(std::max(now, last_ack_ + timing.spacing_min));
  // The ring is ordered by number from recent_next_ on, wrapping.
  const std::size_t count = recent_gaps_.size();
  std::size_t low = 0;
  std::size_t high = count;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (recent_gaps_[(recent_next_ + middle) % count].end <= number)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == count) return;
  const RecentGap& gap = recent_gaps_[(recent_next_ + low) % count];
  if (number < gap.begin) return;
  if (now - lateness_turned_at_ > kLatenessSpan) {
    const bool stale = now - lateness_turned_at_ > 2 * kLatenessSpan;
    lateness_before_ = stale ? Duration{} : lateness_now_;
    lateness_now_ = {};
    lateness_turned_at_ = now;
  }
  lateness_now_ = std::max(lateness_now_, now - gap.seen_at);
}

void ReceiveSpace::set_floor(std::uint64_t floor) {
  if (floor <= floor_ || floor > next_expected_) return;
  floor_ = floor;
  received_.erase(0, floor);
}

// First run of a report of the newest gaps: further back only to where the last report ended.
std::size_t ReceiveSpace::newest_runs() const noexcept {
  const auto runs = received_.intervals();
  if (runs.size() <= kNewestGaps + 1) return 0;
  const auto untold = std::ranges::lower_bound(runs, reported_to_, {}, &base::Interval::end);
  return std::min(runs.size() - kNewestGaps - 1, static_cast<std::size_t>(untold - runs.begin()));
}

std::size_t ReceiveSpace::gaps_affordable() const noexcept {
  return static_cast<std::size_t>(std::max<std::int64_t>(credit_, 0) / kGapBytes);
}

bool ReceiveSpace::may_list_all(Timestamp now) const noexcept {
  const std::size_t runs = received_.intervals().size();
  return runs <= gaps_affordable() && (runs <= kShortList || now - last_list_ >= list_spacing_min_);
}

void ReceiveSpace::begin_ack(Timestamp now, wire::Ack& ack) {
  ++partial_acks_;
  const bool full = (untold_ || partial_acks_ >= kFullEvery) && may_list_all(now);
  gaps_.clear();
  // The largest was received, whatever the floor says.
  ack.floor = std::min(floor_, next_expected_ - 1);
  const auto runs = received_.intervals();
  std::uint64_t expected = floor_;
  std::size_t first_run = full ? 0 : newest_runs();
  if (runs.size() - first_run > gaps_affordable() + 1) {
    first_run = runs.size() - gaps_affordable() - 1;
    untold_ = true;
  }
  if (first_run > 0) ack.floor = expected = runs[first_run].begin;
  for (std::size_t i = first_run; i < runs.size(); ++i) {
    if (runs[i].begin > expected) gaps_.push_back({expected, runs[i].begin - expected});
    expected = runs[i].end;
  }
  if (full) {
    partial_acks_ = 0;
    untold_ = false;
    last_list_ = now;
  }
  reported_from_ = ack.floor;
  reported_to_ = next_expected_;
  ack.largest = next_expected_ - 1;
  ack.largest_is_newest = true;
  ack.largest_delay_us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(now - largest_at_).count());
  ack.packets = packets_;
  ack.bytes = bytes_;
  ack.ce = ce_;
  const bool stale = now - lateness_turned_at_ > 2 * kLatenessSpan;
  const Duration lateness = stale ? Duration{} : std::max(lateness_now_, lateness_before_);
  ack.lateness_us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(lateness).count());
  ack.gaps = gaps_;
}

void ReceiveSpace::end_ack(Timestamp now) noexcept {
  unacknowledged_ = 0;
  last_ack_ = now;
  ack_due_ = kNever;
}

}  // namespace longhaul::recovery
