// SPDX-License-Identifier: Apache-2.0
#include "apps/wan/lane.hpp"

#include <algorithm>

#include "apps/wan/frame.hpp"
#include "lib/netmodel/corruption.hpp"

namespace longhaul::apps::wan {

Lane::Lane(const DirectionPlan& plan, std::uint64_t seed, Timestamp start, Port& from, Port& to,
           PacketPool& pool)
    : stages_(plan.stages),
      start_(start),
      link_(seed, from_start(plan.stages.front().config, start)),
      from_(from),
      to_(to),
      pool_(pool) {}

std::size_t Lane::receive(const Clocks& clocks) {
  const std::size_t count = from_.receive(clocks, received_);
  for (const ReceivedFrame& frame : std::span(received_).first(count)) {
    advance(frame.arrived);
    if (admissible(frame)) offer(frame);
  }
  return count;
}

bool Lane::admissible(const ReceivedFrame& frame) {
  const std::size_t header = ethernet_header_bytes(frame.bytes);
  if (header == 0) {
    ++stats_.runts;
    return false;
  }
  // A super-frame would be one packet to the model and forty to the receiver.
  const std::size_t tag = frame.vlan_protocol != 0 ? kVlanBytes : 0;
  if (frame.whole_bytes > frame.bytes.size() || frame.whole_bytes > from_.mtu() + header ||
      frame.bytes.size() + tag > pool_.buffer_bytes()) {
    ++stats_.super_frames;
    return false;
  }
  // Passed on as it is, the receiver would take it for damage; and no cable carries such a packet.
  if (frame.no_checksum) {
    ++stats_.no_checksum;
    return false;
  }
  return true;
}

void Lane::offer(const ReceivedFrame& frame) {
  std::byte* data = pool_.take();
  if (data == nullptr) {
    ++stats_.buffer_dropped;
    return;
  }
  auto bytes = static_cast<std::uint32_t>(frame.bytes.size());
  const std::size_t ip_bytes = bytes - ethernet_header_bytes(frame.bytes);
  const bool ecn_capable = link_.config().red.ecn && is_ecn_capable(frame.bytes);
  const netmodel::Outcome outcome = link_.offer(frame.arrived, ip_bytes, 0, ecn_capable);
  if (outcome.fate != netmodel::Fate::delivered) {
    pool_.give(data);
    return;
  }
  if (frame.vlan_protocol != 0) {
    copy_with_vlan(frame.bytes, frame.vlan_protocol, frame.vlan_tag, data);
    bytes += kVlanBytes;
  } else {
    std::copy(frame.bytes.begin(), frame.bytes.end(), data);
  }
  const std::span<std::byte> whole(data, bytes);
  if (outcome.congestion_experienced) mark_congestion(whole);
  if (outcome.corruption != 0) {
    const auto packet = whole.last(ip_bytes);
    netmodel::damage(packet, packet.size(), outcome.corruption);
  }
  dispatch(outcome, data, bytes);
}

void Lane::dispatch(const netmodel::Outcome& outcome, std::byte* data, std::uint32_t bytes) {
  queue_.push({outcome.deliveries[0].arrival, number_++, data, bytes});
  if (outcome.copies < 2) return;
  std::byte* copy = pool_.take();
  if (copy == nullptr) {
    ++stats_.buffer_dropped;
    return;
  }
  std::copy_n(data, bytes, copy);
  queue_.push({outcome.deliveries[1].arrival, number_++, copy, bytes});
}

std::size_t Lane::deliver(Timestamp now) {
  std::array<Packet, kBurst> packets;
  std::array<std::span<const std::byte>, kBurst> frames;
  std::size_t count = 0;
  while (count < kBurst && queue_.first_due() <= now) {
    packets[count] = queue_.pop();
    frames[count] = {packets[count].data, packets[count].bytes};
    ++count;
  }
  if (count == 0) return 0;
  std::array<SendFate, kBurst> fates{};
  to_.send(std::span(frames).first(count), std::span(fates).first(count));
  for (std::size_t i = 0; i < count; ++i) {
    count_sent(packets[i], fates[i], now);
    pool_.give(packets[i].data);
  }
  return count;
}

void Lane::count_sent(const Packet& packet, SendFate fate, Timestamp now) noexcept {
  constexpr std::uint64_t kLate = 1'000'000;
  if (fate != SendFate::taken) {
    ++(fate == SendFate::interface_down ? stats_.interface_down : stats_.send_failed);
    return;
  }
  ++stats_.sent;
  stats_.sent_bytes += packet.bytes;
  const auto late = static_cast<std::uint64_t>((now - packet.due).count());
  stats_.late_max_ns = std::max(stats_.late_max_ns, late);
  if (late > kLate) ++stats_.late_over_1ms;
}

void Lane::advance(Timestamp now) {
  while (next_change() <= now) {
    link_.configure(from_start(stages_[next_stage_].config, start_));
    ++next_stage_;
  }
}

Timestamp Lane::next_change() const noexcept {
  return next_stage_ < stages_.size() ? start_ + stages_[next_stage_].at : kNever;
}

DirectionStats Lane::stats() {
  stats_.kernel_dropped = from_.kernel_dropped();
  return {link_.stats(), stats_};
}

}  // namespace longhaul::apps::wan
