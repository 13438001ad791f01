// SPDX-License-Identifier: Apache-2.0
#include "lib/recovery/send_space.hpp"

#include <algorithm>
#include <iterator>

#include "lib/base/assert.hpp"

namespace longhaul::recovery {
namespace {
// The window starts at three packets' time: below that, the smallest reordering would look like
// loss (RFC 9002 §6.1.1 counts three packets for the same reason).
constexpr std::int64_t kPacketTimes = 3;
// What was learned fades over some 16 RTT.
constexpr std::int64_t kDecay = 16;
constexpr std::uint64_t kLatenessMaxUs = 10'000'000;
// Where round trips are shorter than what queues and schedulers do to packets.
constexpr Duration kWindowMaxMin = std::chrono::milliseconds(10);
// Each costs an ACK and a FLOOR; who lies about a flight of thousands meets one.
constexpr std::uint64_t kSkipMin = 512;
constexpr std::uint64_t kSkipSpread = 4096;

// An eighth and three packets on top: the next late packet may be a little later than the last.
Duration with_margin(Duration lateness, Duration packet_time) {
  return lateness.count() == 0 ? Duration{} : lateness + lateness / 8 + kPacketTimes * packet_time;
}
}  // namespace

void SendSpace::on_sent(const SentPacket& packet) {
  if (packet.in_flight) ++in_flight_packets_;
  sent_.append(packet);
  if (skips_ == nullptr || sent_.next() < skip_at_) return;
  skipped_.insert(sent_.next(), sent_.next() + 1);
  sent_.append({});
  skip_at_ = sent_.next() + kSkipMin + skips_->next() % kSkipSpread;
}

void SendSpace::skip_numbers(base::RandomSource& random) {
  skips_ = &random;
  skip_at_ = sent_.next() + skips_->next() % kSkipMin;
}

bool SendSpace::claims_skipped(const wire::Ack& ack) const noexcept {
  for (std::uint64_t number = skipped_.first_member(ack.floor); number <= ack.largest;
       number = skipped_.first_member(number + 1)) {
    const auto after = std::ranges::upper_bound(ack.gaps, number, {}, &wire::Gap::first);
    if (after == ack.gaps.begin() || number - std::prev(after)->first >= std::prev(after)->length)
      return true;
  }
  return false;
}

void SendSpace::set_minimum_window(Duration packet_time) noexcept {
  window_ = std::max(learned_window_, kPacketTimes * packet_time);
}

AckOutcome SendSpace::on_ack(Timestamp now, const wire::Ack& ack, Duration packet_time,
                             Duration smoothed_rtt) {
  acked_out_.clear();
  lost_out_.clear();
  spurious_out_.clear();
  AckOutcome outcome;
  if (ack.largest >= sent_.next() || ack.floor > ack.largest || claims_skipped(ack)) {
    outcome.valid = false;
    return outcome;
  }
  learn_window(now, ack, packet_time, smoothed_rtt);
  if (ack.largest >= examined_) {
    unsettled_.insert(std::max(examined_, sent_.first()), ack.largest + 1);
    examined_ = ack.largest + 1;
  }
  const SentPacket* largest = sent_.find(ack.largest);
  const bool newly = largest != nullptr && largest->outstanding && unsettled_.contains(ack.largest);
  const Timestamp largest_sent_at = largest != nullptr ? largest->sent_at : Timestamp{};
  settle_received(ack);
  settle_gaps(ack);
  sent_.trim();

  outcome.acked = acked_out_;
  outcome.lost = lost_out_;
  outcome.spurious = spurious_out_;
  if (newly && ack.largest_is_newest && now > largest_sent_at) {
    outcome.has_rtt_sample = true;
    outcome.rtt_sample = now - largest_sent_at;
    outcome.ack_delay =
        std::chrono::microseconds(std::min<std::uint64_t>(ack.largest_delay_us, 1'000'000));
  }
  if (ack.ce > ce_seen_) {
    outcome.newly_ce = ack.ce - ce_seen_;
    ce_seen_ = ack.ce;
  }
  return outcome;
}

void SendSpace::settle_received(const wire::Ack& ack) {
  std::uint64_t from = ack.floor;
  for (const wire::Gap& gap : ack.gaps) {
    settle_run(from, gap.first);
    from = gap.first + gap.length;
  }
  settle_run(from, ack.largest + 1);
}

// [begin, end) was received.
void SendSpace::settle_run(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  for (std::uint64_t number = lost_.first_member(begin); number < end;
       number = lost_.first_member(number + 1)) {
    spurious_out_.push_back({number, {}});
    if (const SentPacket* packet = sent_.remembered(number))
      spurious_out_.back().packet.sent_at = packet->sent_at;
  }
  lost_.erase(begin, end);
  if (!unsettled_.intersects(begin, end)) return;
  scratch_.clear();
  for (std::uint64_t from = unsettled_.first_member(begin); from < end;) {
    const std::uint64_t to = std::min(unsettled_.containing(from).end, end);
    scratch_.push_back({from, to});
    from = unsettled_.first_member(to);
  }
  for (const base::Interval& run : scratch_)
    for (std::uint64_t number = run.begin; number < run.end; ++number) acknowledge(number);
  unsettled_.erase(begin, end);
}

void SendSpace::acknowledge(std::uint64_t number) {
  SentPacket* packet = sent_.find(number);
  if (packet == nullptr) return;
  if (!any_acked_ || number > largest_acked_) {
    largest_acked_ = number;
    newest_acked_sent_at_ = std::max(newest_acked_sent_at_, packet->sent_at);
    any_acked_ = true;
  }
  if (!packet->outstanding) return;
  packet->outstanding = false;
  if (packet->in_flight) --in_flight_packets_;
  acked_out_.push_back({number, *packet});
}

void SendSpace::settle_gaps(const wire::Ack& ack) {
  if (!any_acked_) return;  // nothing has arrived that could have overtaken anything
  for (const wire::Gap& gap : ack.gaps) {
    const std::uint64_t end = gap.first + gap.length;
    // A gap may be as long as the connection is old; only what is open inside it costs time.
    for (std::uint64_t number = unsettled_.first_member(gap.first); number < end;
         number = unsettled_.first_member(number + 1)) {
      SentPacket* packet = sent_.find(number);
      if (packet != nullptr && packet->outstanding) {
        if (newest_acked_sent_at_ - packet->sent_at < window_) continue;
        lose(number, *packet);
      }
      unsettled_.erase(number, number + 1);
    }
  }
}

void SendSpace::lose(std::uint64_t number, SentPacket& packet) {
  packet.outstanding = false;
  if (packet.in_flight) --in_flight_packets_;
  lost_.insert(number, number + 1);
  lost_out_.push_back({number, packet});
}

std::span<const Settled> SendSpace::lose_larger_than(std::uint32_t size) {
  lost_out_.clear();
  for (std::uint64_t number = sent_.first(); number < sent_.next(); ++number) {
    SentPacket& packet = *sent_.find(number);
    if (!packet.outstanding || packet.size <= size) continue;
    lose(number, packet);
    unsettled_.erase(number, number + 1);
  }
  sent_.trim();
  return lost_out_;
}

void SendSpace::learn_window(Timestamp now, const wire::Ack& ack, Duration packet_time,
                             Duration smoothed_rtt) {
  if (now - window_decayed_at_ >= smoothed_rtt) {
    lateness_ -= lateness_ / kDecay;
    // What was added for growth is given back faster than what was measured.
    if (learned_window_ > with_margin(lateness_, packet_time))
      learned_window_ = with_margin(lateness_, packet_time) +
                        (learned_window_ - with_margin(lateness_, packet_time)) / 2;
    window_decayed_at_ = now;
  }
  // To wait longer than a round trip costs more than to send again, and who holds back a few
  // packets must not make us wait for all the others.
  const Duration most = std::max(smoothed_rtt, kWindowMaxMin);
  const Duration seen = std::min<Duration>(
      std::chrono::microseconds(std::min<std::uint64_t>(ack.lateness_us, kLatenessMaxUs)), most);
  if (seen > lateness_) {
    // While the lateness still grows the next packet will be later than any so far; doubling stays
    // ahead.
    lateness_ = seen;
    learned_window_ =
        std::max(learned_window_, std::min(2 * seen, most) + kPacketTimes * packet_time);
  }
  set_minimum_window(packet_time);
}

std::uint64_t SendSpace::settled_floor() const noexcept {
  return unsettled_.empty() ? examined_ : unsettled_.intervals().front().begin;
}

std::uint64_t SendSpace::confirmed_floor(Timestamp now, Duration smoothed_rtt) noexcept {
  if (now - floor_candidate_at_ >= smoothed_rtt) {
    floor_confirmed_ = std::max(floor_confirmed_, floor_candidate_);
    lost_.erase(0, floor_confirmed_);
    skipped_.erase(0, floor_confirmed_);
    floor_candidate_ = settled_floor();
    floor_candidate_at_ = now;
  }
  return floor_confirmed_;
}

}  // namespace longhaul::recovery
