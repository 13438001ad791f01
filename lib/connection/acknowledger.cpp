// SPDX-License-Identifier: Apache-2.0
#include "lib/connection/acknowledger.hpp"

#include <algorithm>

namespace longhaul::connection {
namespace {
// Floors only bound the peer's state: a few a round trip are plenty.
constexpr Duration kFloorSpacingMin = std::chrono::milliseconds(1);
// As many gaps take less room in a report than a floor takes in a packet of its own.
constexpr std::size_t kFewGaps = 8;
}  // namespace

bool Acknowledger::due(Timestamp now, Spaces& spaces) const noexcept {
  return rest_.has_value() || next_due(spaces) <= now;
}

Timestamp Acknowledger::next_due(Spaces& spaces) const noexcept {
  if (rest_) return Timestamp::min();
  Timestamp due = floor_urgent_ ? floor_due_ : kNever;
  for (const TrafficClass c : Spaces::kAll) due = std::min(due, spaces.receive(c).ack_due());
  return due;
}

std::size_t Acknowledger::write_acks(Timestamp now, Spaces& spaces, std::span<std::byte> out) {
  std::size_t used = 0;
  for (const TrafficClass c : Spaces::kAll) {
    recovery::ReceiveSpace& space = spaces.receive(c);
    const bool continues = rest_ && rest_class_ == c;
    if (!continues && space.ack_due() > now) continue;
    if (rest_ && !continues) continue;
    wire::Ack ack;
    if (continues)
      ack = *rest_;
    else
      space.begin_ack(now, ack);
    ack.space = spaces.id(c);
    std::uint64_t covered = 0;
    const std::size_t size = wire::write_ack_prefix(ack, out.subspan(used), covered);
    if (size == 0) return used;
    used += size;
    space.spend(size);
    if (!continues) space.end_ack(now);
    rest_.reset();
    if (covered < ack.largest) {
      ack.floor = covered + 1;
      const auto later =
          std::ranges::find_if(ack.gaps, [&](const wire::Gap& gap) { return gap.first > covered; });
      ack.gaps = ack.gaps.subspan(static_cast<std::size_t>(later - ack.gaps.begin()));
      rest_ = ack;
      rest_class_ = c;
      return used;
    }
  }
  return used;
}

void Acknowledger::on_ack_processed(Timestamp now, TrafficClass c, std::size_t gaps,
                                    Duration smoothed_rtt) noexcept {
  // A peer that lists few gaps keeps and tells little that a floor would shorten, and control
  // packets alone make no haste: their floor goes along with the next of them.
  floor_urgent_ = floor_urgent_ || (gaps > kFewGaps && c != TrafficClass::control);
  if (floor_due_ != kNever) return;
  floor_due_ = std::max(now, floors_told_at_ + std::max(smoothed_rtt / 4, kFloorSpacingMin));
}

std::size_t Acknowledger::write_floors(Timestamp now, Spaces& spaces, Duration smoothed_rtt,
                                       std::span<std::byte> out) {
  if (now < floor_due_) return 0;
  floor_due_ = kNever;
  floor_urgent_ = false;
  floors_told_at_ = now;
  std::size_t used = 0;
  for (const TrafficClass c : Spaces::kAll) {
    const std::uint64_t floor = spaces.send(c).confirmed_floor(now, smoothed_rtt);
    std::uint64_t& told = floors_told_[static_cast<std::size_t>(c)];
    if (floor <= told) continue;
    const std::size_t size = wire::write_frame(wire::Floor{spaces.id(c), floor}, out.subspan(used));
    if (size == 0) break;
    told = floor;
    used += size;
  }
  return used;
}

}  // namespace longhaul::connection
