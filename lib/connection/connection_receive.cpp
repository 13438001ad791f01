// SPDX-License-Identifier: Apache-2.0
// The life of a packet coming in:
//  1. the endpoint has found the connection by connection ID and hands over a burst
//  2. headers are read, numbers expanded, duplicates dropped; the rest is opened in one call
//  3. chunks go straight to their transfer, which decides whether the packet counts as received
//  4. control packets are read frame by frame; every frame has one small handler
//  5. what was accepted is entered in its packet-number space, which decides when to acknowledge
#include <algorithm>

#include "lib/base/assert.hpp"
#include "lib/base/plain_text.hpp"
#include "lib/connection/connection.hpp"

namespace longhaul::connection {

void Connection::handle_datagrams(Timestamp now, std::span<base::RxDatagram> burst) {
  const base::PoisonScope scope;
  if (!life_.closing.is_open()) {
    for (std::size_t i = 0; i < burst.size(); ++i) life_.closing.on_packet();
    return;
  }
  if (!life_.handshake.established()) return;
  shared_.open_jobs.clear();
  for (base::RxDatagram& datagram : burst) {
    const auto header = wire::read_short_header(datagram.data);
    TrafficClass c{};
    if (!header || !spaces_.find(header->space, c)) {
      shared_.drop(DropReason::malformed_header);
      continue;
    }
    const std::uint64_t number =
        wire::expand_packet_number(spaces_.receive(c).largest(), header->packet_number);
    // Opening costs; a copy, which anybody can make, is not worth it.
    if (!spaces_.receive(c).is_new(number)) {
      shared_.drop(DropReason::duplicate_packet);
      continue;
    }
    shared_.open_jobs.push_back(
        {&datagram, wire::header_bytes(header->type), header->space, number, false});
  }
  protection_->open(shared_.open_jobs);
  for (const crypto::OpenJob& job : shared_.open_jobs) {
    if (!job.ok) {
      shared_.drop(DropReason::failed_integrity);
      continue;
    }
    if (!life_.closing.is_open()) break;
    if (!life_.handshake.confirmed()) on_confirmed(now);
    handle_short(now, *job.datagram, *wire::read_short_header(job.datagram->data),
                 job.packet_number);
  }
  check_keys(now);
  check_poison(now, scope);
}

void Connection::handle_short(Timestamp now, const base::RxDatagram& datagram,
                              const wire::ShortHeader& header, std::uint64_t number) {
  TrafficClass c{};
  spaces_.find(header.space, c);
  recovery::ReceiveSpace& space = spaces_.receive(c);
  life_.liveness.on_heard(now);
  ++counts_.packets_received;
  counts_.bytes_received += datagram.size();
  if (!space.is_new(number)) return shared_.drop(DropReason::duplicate_packet);
  // Only the newest packet moves anything: a late one may still come from the old address.
  if (datagram.remote != path_.remote() && number + 1 > space.largest() + 1)
    validator_.on_new_address(now, datagram.remote, path_.remote(), datagram.size(),
                              path_.rtt().pto(), random_);

  const auto body =
      datagram.data.subspan(wire::header_bytes(header.type) + protection_->overhead());
  recovery::ReceiveSpace::Arrival arrival{number, datagram.size(), datagram.ecn, true, false};
  if (header.type == wire::PacketType::control) {
    bool ping = false;
    if (!handle_frames(now, datagram.remote, body, arrival.ack_eliciting, ping)) {
      shared_.drop(DropReason::malformed_frame);
      return end_and_tell(now, Status::closed, wire::CloseCode::protocol_violation,
                          "the peer broke the protocol");
    }
    arrival.urgent = ping && c != TrafficClass::control;
  } else if (header.type == wire::PacketType::repair) {
    // No FEC was negotiated, so nothing can be made of it; it still crossed the network.
  } else {
    const bool by_reference = !datagram.reference.empty();
    const transfer::ChunkBytes chunk{body, by_reference ? datagram.reference.size() : body.size(),
                                     by_reference};
    const auto fate = receivers_.on_chunk(now, header.alias, header.layout, header.chunk,
                                          header.type == wire::PacketType::digest, chunk);
    if (fate == transfer::Receivers::Fate::refused) return shared_.drop(DropReason::table_full);
    if (fate == transfer::Receivers::Fate::malformed) return shared_.drop(DropReason::wrong_size);
  }
  space.on_received(now, arrival, ack_timing());
}

bool Connection::handle_frames(Timestamp now, const SocketAddress& from,
                               std::span<const std::byte> frames, bool& ack_eliciting, bool& ping) {
  ack_eliciting = false;
  wire::FrameReader reader(frames, shared_.gaps);
  while (const auto frame = reader.next()) {
    const bool quiet = std::holds_alternative<wire::Ack>(*frame) ||
                       std::holds_alternative<wire::Floor>(*frame) ||
                       std::holds_alternative<wire::ConnectionClose>(*frame);
    ack_eliciting = ack_eliciting || !quiet;
    ping = ping || std::holds_alternative<wire::Ping>(*frame);
    if (!handle_frame(now, from, *frame)) return false;
    if (!life_.closing.is_open()) return true;
  }
  return !reader.failed();
}

namespace {

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace

bool Connection::handle_frame(Timestamp now, const SocketAddress& from, const wire::Frame& frame) {
  return std::visit(
      Overloaded{
          [](const wire::Ping&) { return true; },
          [&](const wire::Ack& ack) { return handle_ack(now, ack); },
          [&](const wire::Floor& floor) {
            TrafficClass c{};
            if (!spaces_.find(floor.space, c)) return false;
            spaces_.receive(c).set_floor(floor.floor);
            return true;
          },
          [&](const wire::ConnectionClose& close) {
            const bool ours = close.code == static_cast<std::uint16_t>(wire::CloseCode::no_error);
            end(Status::closed, ours && close.reason.empty()
                                    ? "closed by the peer"
                                    : base::plain_text(close.reason, wire::kReasonBytesMax));
            life_.closing.drain(now, 3 * path_.rtt().pto());
            return true;
          },
          [&](const wire::PathChallenge& challenge) {
            // More than a few in one packet only want us to work.
            if (control_.path_responses.size() < 8)
              control_.path_responses.push_back(challenge.data);
            return true;
          },
          [&](const wire::PathResponse& response) {
            validator_.on_response(now, from, response.data);
            follow_peer(now);
            return true;
          },
          [](const wire::Handshake& stream) { return stream.data.empty(); },
          [](const wire::TransportParametersFrame&) { return false; },
          [&](const wire::Transfer& value) { return receivers_.on_transfer(now, value); },
          [&](const wire::Layout& value) { return receivers_.on_layout(now, value); },
          [&](const wire::Posted& value) { return senders_.on_posted(now, value); },
          [&](const wire::SendEnd& value) { return receivers_.on_send_end(now, value); },
          [&](const wire::ReceiveEnd& value) { return senders_.on_receive_end(now, value); },
          [&](const wire::Refetch& value) { return senders_.on_refetch(value); },
          [&](const wire::AllSent& value) {
            return receivers_.on_all_sent(now, value, all_sent_grace());
          },
      },
      frame);
}

void Connection::follow_peer(Timestamp now) {
  const auto address = validator_.take_decision(now);
  if (!address) return;
  path_.set_remote(*address);
  ++counts_.migrations;
  transfer::ConnectionEvent event;
  event.kind = transfer::ConnectionEvent::Kind::moved;
  event.connection = config_.id;
  event.remote = *address;
  shared_.events->emplace_back(std::move(event));
}

// What left before ALL_SENT may still be behind it: other classes queue apart, and paths jitter.
Duration Connection::all_sent_grace() const noexcept {
  return std::max<Duration>(path_.rtt().smoothed() / 8 + path_.rtt().variation(),
                            std::chrono::milliseconds(2));
}

bool Connection::handle_ack(Timestamp now, const wire::Ack& ack) {
  TrafficClass c{};
  if (!spaces_.find(ack.space, c)) return false;
  const auto outcome =
      spaces_.send(c).on_ack(now, ack, path_.packet_time(), path_.rtt().smoothed());
  if (!outcome.valid) return false;
  if (outcome.has_rtt_sample) path_.rtt().on_sample(outcome.rtt_sample, outcome.ack_delay);
  settle(now, c, outcome);
  control_.acknowledger.on_ack_processed(now, c, ack.gaps.size(), path_.rtt().smoothed());
  return true;
}

void Connection::settle(Timestamp now, TrafficClass c, const recovery::AckOutcome& outcome) {
  path::Path::Settlement sums;
  sums.ce = outcome.newly_ce;
  if (!outcome.acked.empty())
    protection_->on_acked(now, outcome.acked.back().packet.key_phase, path_.rtt().smoothed());
  for (const recovery::Settled& settled : outcome.acked) {
    const recovery::SentPacket& packet = settled.packet;
    if (packet.content == recovery::Content::probe) {
      path_.mtu().on_probe_acked(now, packet.size);
      continue;
    }
    if (packet.content == recovery::Content::frames) control_.frames.on_carrier_acked(packet.owner);
    path_.mtu().on_packet_acked(now, packet.size, packet.sent_at);
    if (!packet.in_flight) continue;
    sums.acked_bytes += packet.size;
    ++sums.acked_packets;
    sums.newest_acked_sent_at = packet.sent_at;
    sums.delivered_at_send = packet.delivered_at_send;
    sums.application_limited = packet.application_limited;
  }
  settle_lost(now, outcome.lost, sums);
  path_.on_settled(now, sums, outcome.has_rtt_sample);
  for (const recovery::Settled& settled : outcome.spurious) {
    ++counts_.spurious_losses;
    if (settled.packet.sent_at != Timestamp{}) path_.on_spurious_loss(now, settled.packet.sent_at);
  }
  if (spaces_.send(c).in_flight_packets() == 0) control_.markers.stop(c);
  if (path_.mtu().take_changed()) apply_mtu_change(now);
}

void Connection::settle_lost(Timestamp now, std::span<const recovery::Settled> lost,
                             path::Path::Settlement& sums) {
  for (const recovery::Settled& settled : lost) {
    const recovery::SentPacket& packet = settled.packet;
    const transfer::SlotHandle owner{packet.owner, packet.owner_generation};
    switch (packet.content) {
      case recovery::Content::probe:
        path_.mtu().on_probe_lost(now, packet.size);
        continue;
      case recovery::Content::frames:
        control_.frames.on_carrier_lost(now, packet.owner);
        break;
      case recovery::Content::chunk:
      case recovery::Content::digest:
        senders_.on_packet_lost(owner, packet.content == recovery::Content::digest, packet.layout,
                                packet.index);
        break;
      case recovery::Content::none:
        break;
    }
    path_.mtu().on_packet_lost(now, packet.size, packet.sent_at, path_.rtt().smoothed());
    if (!packet.in_flight) continue;
    ++counts_.packets_lost;
    sums.lost_bytes += packet.size;
    ++sums.lost_packets;
    sums.oldest_lost_sent_at = std::min(sums.oldest_lost_sent_at, packet.sent_at);
    sums.newest_lost_sent_at = std::max(sums.newest_lost_sent_at, packet.sent_at);
  }
}

// What is too large for the path now was lost, or will be: it need not be waited for.
void Connection::apply_mtu_change(Timestamp now) {
  if (!path_.on_mtu_changed()) return;
  for (const TrafficClass c : Spaces::kData) {
    path::Path::Settlement sums;
    settle_lost(now, spaces_.send(c).lose_larger_than(path_.mtu().max_datagram()), sums);
    path_.on_settled(now, sums, false);
  }
}

}  // namespace longhaul::connection
