// SPDX-License-Identifier: Apache-2.0
// The life of a packet going out:
//  1. poll_transmit is given a burst of slots and fills them from the front, most urgent first:
//     close, handshake, control (ACK, FLOOR, answers, reliable frames, heartbeat), challenge, MTU
//     probe
//  2. data by class, strictly in order, as far as the congestion window and the pacer let it
//  3. tail markers, if a space has had nothing to send for a reordering window
//  4. a packet is header, room for integrity, then frames in the slot or a reference to tensor
//  memory
//  5. all packets of the burst are sealed in one call
#include <algorithm>

#include "lib/base/assert.hpp"
#include "lib/base/byte_writer.hpp"
#include "lib/connection/connection.hpp"

namespace longhaul::connection {
namespace {

// Packets that may leave within this time, or within the time of a burst, are handed over together,
// each with its own departure.
constexpr Duration kPacingHorizonMin = std::chrono::microseconds(50);
// An RTT sample for the receiving side, which otherwise sends only ACKs. It costs the sender an ACK
// of its own.
constexpr Duration kPingSpacingMin = std::chrono::milliseconds(50);
constexpr Duration kAckDelayMin = std::chrono::microseconds(20);
constexpr Duration kAckDelayMax = std::chrono::microseconds(500);
constexpr Duration kAckSpacingMax = std::chrono::microseconds(50);
// Where nothing is missing some 32 ACKs a round trip serve every controller; each costs both ends
// as much as several packets of data.
constexpr std::int64_t kAcksPerRtt = 32;
// A burst of a slow sender is worth an ACK at once: the visit is paid already.
constexpr std::uint32_t kAckPackets = 10;
// As often as floors, which shorten the lists.
constexpr std::int64_t kListsPerRtt = 4;
// DESIGN §5 allows max(2 RTT, 250 ms) between probes. They cost 15 bytes: one a round trip keeps a
// connection alive through 90 % loss of what comes back.
constexpr Duration kProbeIntervalMin = std::chrono::milliseconds(25);
constexpr Duration kProbeIntervalMax = std::chrono::milliseconds(250);
// The second copy of a control frame keeps further away than a burst of 64 losses lasts.
constexpr std::int64_t kBurstPackets = 64;
constexpr Duration kEarlyRepeatMin = std::chrono::milliseconds(1);
constexpr Duration kEarlyRepeatMax = std::chrono::milliseconds(10);
// An acknowledgement that comes within this is worth waiting for instead.
constexpr Duration kAnswerSoon = std::chrono::milliseconds(3);

}  // namespace

std::uint32_t Connection::payload_max() const noexcept {
  return path_.mtu().max_datagram() -
         static_cast<std::uint32_t>(wire::kSourceHeaderBytes + protection_->overhead());
}

bool Connection::has_window() const noexcept {
  return path_.has_window_for(path_.mtu().max_datagram());
}

Duration Connection::pacing_horizon() const noexcept {
  return std::max(path_.pacer().burst_duration(), kPacingHorizonMin);
}

recovery::RepeatTiming Connection::repeat_timing() const noexcept {
  const Duration retry = path_.rtt().pto() + kAckDelayMax;
  const Duration early =
      std::clamp(kBurstPackets * path_.packet_time(), kEarlyRepeatMin, kEarlyRepeatMax);
  return {retry <= kAnswerSoon ? std::max(early, retry) : early, retry, probe_interval_max()};
}

recovery::AckTiming Connection::ack_timing() const noexcept {
  const Duration rtt = path_.rtt().smoothed();
  const Duration spacing = std::min(rtt / 8, kAckSpacingMax);
  return {std::clamp(rtt / 16, kAckDelayMin, kAckDelayMax), spacing,
          std::clamp(rtt / kAcksPerRtt, spacing, kAckDelayMax), kAckPackets, rtt / kListsPerRtt};
}

Duration Connection::probe_interval_max() const noexcept {
  return std::clamp(path_.rtt().smoothed(), kProbeIntervalMin, kProbeIntervalMax);
}

Duration Connection::answer_patience() const noexcept {
  return std::max(2 * path_.rtt().smoothed(), kProbeIntervalMax);
}

std::size_t Connection::poll_transmit(Timestamp now, std::span<base::TxDatagram> slots) {
  const base::PoisonScope scope;
  Burst burst{slots, 0};
  shared_.seal_jobs.clear();
  if (!life_.closing.is_open()) {
    transmit_close(now, burst);
  } else {
    transmit_handshake(now, burst);
    if (life_.handshake.confirmed() && may_speak()) {
      while (transmit_control(now, burst)) {
      }
      while (transmit_challenge(now, burst)) {
      }
      transmit_probe(now, burst);
      transmit_data(now, burst);
      transmit_markers(now, burst);
    }
  }
  protection_->seal(shared_.seal_jobs);
  check_keys(now);
  check_poison(now, scope);
  return burst.used;
}

void Connection::transmit_handshake(Timestamp now, Burst& burst) {
  while (!burst.full()) {
    base::TxDatagram& slot = burst.slots[burst.used];
    slot.head_size = life_.handshake.write(now, slot.head);
    if (slot.head_size == 0) return;
    slot.payload = {};
    slot.remote = path_.remote();
    slot.departure = now;
    slot.ecn = base::Ecn::not_ect;
    slot.dscp = config_.endpoint->dscp.codepoints[static_cast<std::size_t>(TrafficClass::control)];
    ++burst.used;
  }
}

std::size_t Connection::begin_packet(base::TxDatagram& slot, wire::PacketType type, TrafficClass c,
                                     const transfer::OutgoingChunk* out) {
  const std::uint64_t number = spaces_.send(c).next_number();
  wire::ShortHeader header;
  header.type = type;
  header.key_phase = protection_->key_phase();
  header.reserved = static_cast<std::uint8_t>((number * 0x9e3779b97f4a7c15ULL) >> 62);
  header.connection_id = life_.handshake.peer_cid();
  header.space = spaces_.id(c);
  header.packet_number = static_cast<std::uint32_t>(number);
  if (out != nullptr) {
    header.alias = out->alias;
    header.layout = out->chunk.layout;
    header.chunk = out->chunk.index;
  }
  const std::size_t header_bytes = wire::write_short_header(header, slot.head);
  slot.payload = {};
  slot.remote = path_.remote();
  slot.ecn = base::Ecn::ect0;
  slot.dscp = config_.endpoint->dscp.codepoints[static_cast<std::size_t>(c)];
  shared_.seal_jobs.push_back({&slot, header_bytes, header.space, number});
  return header_bytes + protection_->overhead();
}

void Connection::finish_control(Timestamp now, Burst& burst, TrafficClass c, std::size_t size,
                                recovery::SentPacket packet) {
  base::TxDatagram& slot = burst.slots[burst.used++];
  // A peer that lost its memory answers only what is larger than its answer.
  if (packet.outstanding && size <= wire::kResetDatagramMin &&
      life_.liveness.silence(now) > 2 * path_.rtt().pto()) {
    std::ranges::fill(slot.head.subspan(size, wire::kResetDatagramMin + 1 - size), std::byte{0});
    size = wire::kResetDatagramMin + 1;
  }
  slot.head_size = size;
  slot.departure = now;
  packet.sent_at = now;
  packet.size = static_cast<std::uint32_t>(size);
  packet.delivered_at_send = path_.delivered_bytes();
  packet.key_phase = protection_->key_phase();
  spaces_.send(c).on_sent(packet);
  if (packet.content == recovery::Content::frames)
    path_.pacer().on_sent(path_.pacer().departure(now), size);
  else
    path_.pacer().on_sent_unpaced(now, size);
  // A full datagram may be too big for the path: only small ones ask whether the peer is there.
  if (packet.outstanding && packet.content != recovery::Content::probe)
    life_.liveness.on_asked(now);
  ++counts_.packets_sent;
  counts_.bytes_sent += size;
}

void Connection::transmit_close(Timestamp now, Burst& burst) {
  if (burst.full() || !life_.closing.close_due(now)) return;
  base::TxDatagram& slot = burst.slots[burst.used];
  const std::size_t begin =
      begin_packet(slot, wire::PacketType::control, TrafficClass::control, nullptr);
  const std::size_t size = wire::write_frame(life_.closing.frame(), slot.head.subspan(begin));
  finish_control(now, burst, TrafficClass::control, begin + size, {});
  life_.closing.on_close_sent(now, path_.rtt().pto());
}

bool Connection::transmit_control(Timestamp now, Burst& burst) {
  const bool heartbeat = life_.liveness.heartbeat_due(now, answer_patience());
  // Reliable frames are many where transfers are many: they keep to the rate like the data they
  // announce. ACKs and answers do not wait.
  const bool frames_due =
      control_.frames.next_due() <= now && path_.pacer().ready(now, pacing_horizon());
  if (burst.full() || !(control_.acknowledger.due(now, spaces_) || heartbeat ||
                        !control_.path_responses.empty() || frames_due))
    return false;
  base::TxDatagram& slot = burst.slots[burst.used];
  const Duration rtt = path_.rtt().smoothed();
  const std::size_t begin = wire::kControlHeaderBytes + protection_->overhead();
  const std::size_t limit = std::min<std::size_t>(slot.head.size(), path_.mtu().max_datagram());
  std::size_t size = begin;
  const auto rest = [&] { return slot.head.first(limit).subspan(size); };

  recovery::SentPacket packet;
  size += control_.acknowledger.write_acks(now, spaces_, rest());
  size += control_.acknowledger.write_floors(now, spaces_, rtt, rest());
  while (!control_.path_responses.empty()) {
    const std::size_t written =
        wire::write_frame(wire::PathResponse{control_.path_responses.back()}, rest());
    if (written == 0) break;
    size += written;
    packet.outstanding = true;
    control_.path_responses.pop_back();
  }
  std::uint32_t carrier = 0;
  if (const std::size_t written =
          frames_due ? control_.frames.write_due(now, rest(), repeat_timing(), carrier) : 0) {
    size += written;
    packet.outstanding = true;
    packet.content = recovery::Content::frames;
    packet.owner = carrier;
  }
  // Only while tensors come in: on an idle connection two ends would ask each other for ever.
  const bool sample = size > begin && receivers_.expects_data() &&
                      now - control_.last_ping >= std::max(rtt, kPingSpacingMin);
  if (!packet.outstanding && (heartbeat || sample)) {
    if (const std::size_t written = wire::write_frame(wire::Ping{}, rest())) {
      size += written;
      packet.outstanding = true;
    }
  }
  if (size == begin) return false;
  if (packet.outstanding) control_.last_ping = now;
  begin_packet(slot, wire::PacketType::control, TrafficClass::control, nullptr);
  finish_control(now, burst, TrafficClass::control, size, packet);
  return true;
}

bool Connection::transmit_challenge(Timestamp now, Burst& burst) {
  if (burst.full() || now < validator_.next_timeout()) return false;
  base::TxDatagram& slot = burst.slots[burst.used];
  const std::size_t begin = wire::kControlHeaderBytes + protection_->overhead();
  wire::PathChallenge frame;
  const std::size_t size = begin + wire::write_frame(frame, slot.head.subspan(begin));
  const auto challenge = validator_.poll_challenge(now, size);
  if (!challenge) return false;
  begin_packet(slot, wire::PacketType::control, TrafficClass::control, nullptr);
  frame.data = challenge->data;
  wire::write_frame(frame, slot.head.subspan(begin));
  recovery::SentPacket packet;
  packet.outstanding = true;
  finish_control(now, burst, TrafficClass::control, size, packet);
  slot.remote = challenge->to;
  return true;
}

void Connection::transmit_probe(Timestamp now, Burst& burst) {
  if (burst.full()) return;
  const auto size = path_.mtu().probe_due(now);
  if (!size) return;
  base::TxDatagram& slot = burst.slots[burst.used];
  if (*size > slot.head.size()) return path_.mtu().on_too_big_locally(now, *size);
  const std::size_t begin =
      begin_packet(slot, wire::PacketType::control, TrafficClass::control, nullptr);
  const auto room = slot.head.first(*size).subspan(begin);
  // PADDING is zero.
  std::ranges::fill(room.subspan(wire::write_frame(wire::Ping{}, room)), std::byte{0});
  recovery::SentPacket packet;
  packet.outstanding = true;
  packet.content = recovery::Content::probe;
  finish_control(now, burst, TrafficClass::control, *size, packet);
  path_.mtu().on_probe_sent(now, *size, 2 * path_.rtt().pto());
}

// Chunks that only wait for their departure say themselves how far the numbers go.
Timestamp Connection::marker_due(TrafficClass c) const noexcept {
  if (!senders_.has_work(c)) return control_.markers.due(c);
  return has_window() ? kNever : control_.markers.due_with_closed_window(c, path_.rtt().pto());
}

void Connection::transmit_markers(Timestamp now, Burst& burst) {
  for (const TrafficClass c : Spaces::kData) {
    if (now < marker_due(c)) continue;
    if (spaces_.send(c).in_flight_packets() == 0) {
      control_.markers.stop(c);
      continue;
    }
    if (burst.full()) return;
    base::TxDatagram& slot = burst.slots[burst.used];
    const std::size_t begin = begin_packet(slot, wire::PacketType::control, c, nullptr);
    const std::size_t written = wire::write_frame(wire::Ping{}, slot.head.subspan(begin));
    recovery::SentPacket packet;
    packet.outstanding = true;
    finish_control(now, burst, c, begin + written, packet);
    control_.markers.on_marker_sent(c, now, probe_interval_max());
  }
}

void Connection::transmit_data(Timestamp now, Burst& burst) {
  const bool work =
      std::ranges::any_of(Spaces::kData, [&](TrafficClass c) { return senders_.has_work(c); });
  if (work && !path_.pacer().ready(now, Duration::zero()))
    return note_limit(now, Limit::congestion);
  for (const TrafficClass c : Spaces::kData)
    if (!transmit_class(now, c, burst)) return;
  // Nothing is left to send that could be sent.
  path_.pacer().on_idle();
  if (senders_.outstanding() == 0) return note_limit(now, Limit::nothing);
  note_limit(now, senders_.waits_for_receiver() ? Limit::receiver : Limit::application);
}

// False if something else than a lack of data stopped it.
bool Connection::transmit_class(Timestamp now, TrafficClass c, Burst& burst) {
  while (senders_.has_work(c)) {
    if (burst.full()) return false;
    if (!has_window()) {
      path_.on_window_closed();
      path_.pacer().on_idle();
      note_limit(now, Limit::congestion);
      return false;
    }
    if (!path_.pacer().ready(now, pacing_horizon())) {
      note_limit(now, Limit::congestion);
      return false;
    }
    transfer::OutgoingChunk out;
    const auto next = senders_.next(now, c, payload_max(), out);
    if (next == transfer::Senders::Next::nothing) break;
    if (next == transfer::Senders::Next::chunk) {
      finish_chunk(now, burst, c, out);
    } else {
      while (transmit_control(now, burst)) {
      }
    }
  }
  return true;
}

void Connection::finish_chunk(Timestamp now, Burst& burst, TrafficClass c,
                              const transfer::OutgoingChunk& out) {
  base::TxDatagram& slot = burst.slots[burst.used++];
  const auto type = out.chunk.digest ? wire::PacketType::digest : wire::PacketType::source;
  const std::size_t begin = begin_packet(slot, type, c, &out);
  slot.head_size = begin;
  if (out.chunk.digest) {
    out.source->write_digests(out.chunk.index, slot.head.subspan(begin, out.chunk.length));
    slot.head_size += out.chunk.length;
  } else {
    slot.payload = out.source->memory().contiguous(out.chunk.offset, out.chunk.length);
    if (slot.payload.empty()) {
      // The chunk lies across tensors of a list.
      transfer::copy_out(out.source->memory(), out.chunk.offset,
                         slot.head.subspan(begin, out.chunk.length));
      slot.head_size += out.chunk.length;
    }
  }
  slot.departure = path_.pacer().departure(now);
  recovery::SendSpace& space = spaces_.send(c);
  recovery::SentPacket packet;
  // A round trip must be measured from when the packet really leaves.
  packet.sent_at = config_.departure_times ? slot.departure : now;
  packet.delivered_at_send = path_.delivered_bytes();
  packet.size = static_cast<std::uint32_t>(slot.size());
  packet.owner = out.transfer.index;
  packet.owner_generation = out.transfer.generation;
  packet.index = out.chunk.index;
  packet.layout = out.chunk.layout;
  packet.content = out.chunk.digest ? recovery::Content::digest : recovery::Content::chunk;
  packet.key_phase = protection_->key_phase();
  packet.outstanding = packet.in_flight = true;
  packet.application_limited =
      counts_.limit == Limit::application || counts_.limit == Limit::receiver;
  path_.on_data_sent(now, slot.departure, packet.size, space.next_number());
  space.on_sent(packet);
  space.set_minimum_window(path_.packet_time());
  control_.markers.on_data_sent(c, slot.departure, space.window(), path_.rtt().smoothed());
  ++counts_.packets_sent;
  counts_.bytes_sent += packet.size;
}

void Connection::note_limit(Timestamp now, Limit limit) {
  counts_.limited[static_cast<std::size_t>(counts_.limit)] += now - counts_.limit_since;
  counts_.limit = limit;
  counts_.limit_since = now;
}

}  // namespace longhaul::connection
