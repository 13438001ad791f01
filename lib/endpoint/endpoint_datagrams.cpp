// SPDX-License-Identifier: Apache-2.0
// Datagram → connection: the first byte and the connection ID decide. What belongs to no connection
// is answered without keeping state, or dropped and counted.
#include <algorithm>

#include "lib/base/byte_reader.hpp"
#include "lib/endpoint/endpoint_impl.hpp"
#include "lib/transfer/refusal.hpp"

namespace longhaul::endpoint {
namespace {

// From here on a new client proves its address first, whatever the configuration says.
constexpr std::size_t kHalfOpenUnderLoad = 32;

// Read at the client, and in our log.
constexpr std::string_view kAsksForSecurity =
    "the server asks for a key and the client has security none; give both ends the same key";
constexpr std::string_view kHasNoSecurity =
    "the server has security none and the client asks for a key; give both ends the same key";

constexpr std::size_t kShortMin = wire::kCommonHeaderBytes + wire::kCrcBytes;

bool is_reset(std::byte first) noexcept {
  return ((static_cast<unsigned>(first) >> 4) & 7) ==
         static_cast<unsigned>(wire::PacketType::reset);
}

std::uint32_t connection_id(std::span<const std::byte> data) {
  base::ByteReader reader(data.subspan(1, 4));
  return reader.u32();
}

bool is_plain_short(const base::RxDatagram& datagram) {
  return datagram.data.size() >= kShortMin && !wire::is_long(datagram.data[0]) &&
         !is_reset(datagram.data[0]);
}

}  // namespace

void Endpoint::Impl::handle_datagrams(Timestamp now, std::span<base::RxDatagram> burst) {
  while (!burst.empty()) {
    const base::RxDatagram& first = burst.front();
    if (is_plain_short(first)) {
      burst = burst.subspan(handle_run(now, burst));
      continue;
    }
    if (first.data.size() < kShortMin)
      drop(DropReason::too_short);
    else if (wire::is_long(first.data[0]))
      handle_long(now, first);
    else
      handle_reset(first);
    burst = burst.subspan(1);
  }
}

// Neighbours of one connection are handed over together.
std::size_t Endpoint::Impl::handle_run(Timestamp now, std::span<base::RxDatagram> burst) {
  const std::uint32_t cid = connection_id(burst.front().data);
  std::size_t length = 1;
  while (length < burst.size() && is_plain_short(burst[length]) &&
         connection_id(burst[length].data) == cid)
    ++length;
  connection::Connection* found = connections.by_cid(cid);
  if (found == nullptr) {
    for (std::size_t i = 0; i < length; ++i) {
      drop(DropReason::unknown_connection);
      reply_reset(now, burst[i], cid);
    }
    return length;
  }
  found->handle_datagrams(now, burst.first(length));
  some_done_ = some_done_ || found->done();
  note(cid);
  return length;
}

void Endpoint::Impl::handle_reset(const base::RxDatagram& datagram) {
  const auto reset = wire::read_reset(datagram.data);
  // A peer that lost its state knows only the ID our packet was addressed to: its own.
  connection::Connection* found =
      reset ? connections.by_peer_cid(datagram.remote, reset->connection_id) : nullptr;
  if (found == nullptr) return drop(DropReason::unknown_connection);
  found->handle_reset(reset->token);
  some_done_ = some_done_ || found->done();
  note(found->config().own_cid);
}

void Endpoint::Impl::handle_long(Timestamp now, const base::RxDatagram& datagram) {
  const auto peek = wire::peek_long(datagram.data);
  if (!peek) return drop(DropReason::malformed_header);
  if (peek->version != wire::kVersion && peek->type != wire::LongType::version_negotiation) {
    drop(DropReason::unknown_version);
    if (peek->type == wire::LongType::initial) reply_version(now, datagram, *peek);
    return;
  }
  connection::Connection* client = connections.by_cid(peek->destination_id);
  if (peek->type == wire::LongType::version_negotiation) {
    const auto versions = wire::read_version_negotiation(datagram.data);
    if (!versions) return drop(DropReason::malformed_header);
    if (client == nullptr || client->attempt() != peek->attempt)
      return drop(DropReason::unknown_connection);
    client->handle_version_negotiation(now, *versions);
    some_done_ = some_done_ || client->done();
    return note(client->config().own_cid);
  }
  wire::LongError error{};
  const auto packet = wire::read_long_packet(datagram.data, error);
  if (!packet)
    return drop(error == wire::LongError::integrity ? DropReason::failed_integrity
                                                    : DropReason::malformed_header);
  if (packet->header.type == wire::LongType::initial) return handle_initial(now, datagram, *packet);
  if (client == nullptr) return drop(DropReason::unknown_connection);
  client->handle_long_packet(now, *packet);
  some_done_ = some_done_ || client->done();
  note(client->config().own_cid);
}

void Endpoint::Impl::handle_initial(Timestamp now, const base::RxDatagram& datagram,
                                    const wire::LongPacket& packet) {
  if (datagram.data.size() < wire::kInitialDatagramMin) return drop(DropReason::too_short);
  if (!listening)
    return refuse(now, datagram, packet, wire::CloseCode::refused,
                  "nobody listens on this endpoint");
  if (connection::Connection* known =
          connections.by_attempt(datagram.remote, packet.header.attempt)) {
    (void)known->handle_initial(now, packet);
    some_done_ = some_done_ || known->done();
    return note(known->config().own_cid);
  }
  if (ended_attempts_.contains(now, packet.header.attempt))
    return drop(DropReason::unknown_connection);
  // What a flood of forged ones meets comes first, and costs least.
  const bool validated = !packet.header.token.empty();
  if (!validated && config.validate_addresses) return reply_retry(now, datagram, packet);
  if (validated && !address_validation_.accepts(now, datagram.remote, packet.header.attempt,
                                                packet.header.token))
    return drop(DropReason::invalid_token);
  half_open_.keep_if([this](std::uint32_t cid) {
    const connection::Connection* found = connections.by_cid(cid);
    return found != nullptr && found->connecting();
  });
  if (!validated && half_open_.size() >= kHalfOpenUnderLoad)
    return reply_retry(now, datagram, packet);
  if (connection::begins_tls(packet.frames) != (environment.credentials != nullptr)) {
    const auto why = environment.credentials != nullptr ? kAsksForSecurity : kHasNoSecurity;
    if (validated) events_.emplace_back(transfer::refused_client(datagram.remote, why));
    return refuse(now, datagram, packet, wire::CloseCode::refused, why);
  }
  if (half_open_.from(datagram.remote) >= config.handshakes_max_per_source)
    return drop(DropReason::table_full);
  if (connections.size() >= config.connections_max && !forget_half_open(now))
    return refuse(now, datagram, packet, wire::CloseCode::budget,
                  "the endpoint's connections_max is reached");
  accept(now, datagram, packet, validated);
}

// What strangers have begun must not take the place of clients: a handshake that goes well ends
// within round trips, so the oldest is the likeliest to be nobody's.
bool Endpoint::Impl::forget_half_open(Timestamp now) {
  if (half_open_.size() == 0) return false;
  connections.by_cid(half_open_.oldest())->give_up();
  bury_done(now);
  return true;
}

void Endpoint::Impl::accept(Timestamp now, const base::RxDatagram& datagram,
                            const wire::LongPacket& packet, bool validated) {
  connection::ConnectionConfig made = new_connection(datagram.remote);
  made.id = kIncomingBit | next_incoming_++;
  made.role = connection::Role::server;
  made.peer_cid = packet.header.source_id;
  made.attempt = packet.header.attempt;
  made.address_validated = validated;
  auto connection = std::make_unique<connection::Connection>(made, now, events_, drops);
  if (!connection->handle_initial(now, packet)) return drop(DropReason::malformed_frame);
  connections.insert(std::move(connection));
  half_open_.add(datagram.remote, made.own_cid);
  note(made.own_cid);
}

void Endpoint::Impl::reply_version(Timestamp now, const base::RxDatagram& datagram,
                                   const wire::LongPeek& peek) {
  if (datagram.data.size() < wire::kInitialDatagramMin ||
      !replies_.may_push(now, StatelessReplies::Kind::other))
    return;
  std::array<std::byte, 64> bytes;
  constexpr std::array kVersions{wire::kVersion};
  const std::size_t size =
      wire::write_version_negotiation(peek.source_id, peek.attempt, kVersions, bytes);
  replies_.push(now, StatelessReplies::Kind::other, datagram.remote, std::span(bytes).first(size));
}

void Endpoint::Impl::reply_retry(Timestamp now, const base::RxDatagram& datagram,
                                 const wire::LongPacket& packet) {
  if (!replies_.may_push(now, StatelessReplies::Kind::retry)) return;
  const auto token = address_validation_.issue(now, datagram.remote, packet.header.attempt);
  wire::LongHeader header;
  header.type = wire::LongType::retry;
  header.destination_id = packet.header.source_id;
  header.attempt = packet.header.attempt;
  header.token = token;
  std::array<std::byte, 128> bytes;
  const std::size_t size = wire::write_long_packet(header, {}, bytes);
  replies_.push(now, StatelessReplies::Kind::retry, datagram.remote, std::span(bytes).first(size));
}

void Endpoint::Impl::refuse(Timestamp now, const base::RxDatagram& datagram,
                            const wire::LongPacket& packet, wire::CloseCode code,
                            std::string_view reason) {
  if (!replies_.may_push(now, StatelessReplies::Kind::other)) return;
  std::array<std::byte, 192> frames;
  const std::size_t frames_size =
      wire::write_frame(wire::ConnectionClose{static_cast<std::uint16_t>(code), 0, reason}, frames);
  wire::LongHeader header;
  header.type = wire::LongType::accept;
  header.destination_id = packet.header.source_id;
  header.attempt = packet.header.attempt;
  std::array<std::byte, StatelessReplies::kReplyBytesMax> bytes;
  const std::size_t size =
      wire::write_long_packet(header, std::span(frames).first(frames_size), bytes);
  replies_.push(now, StatelessReplies::Kind::other, datagram.remote, std::span(bytes).first(size));
}

void Endpoint::Impl::reply_reset(Timestamp now, const base::RxDatagram& datagram,
                                 std::uint32_t cid) {
  // Smaller than what asked for it, so that two endpoints never keep each other busy.
  if (datagram.size() <= wire::kResetDatagramMin ||
      !replies_.may_push(now, StatelessReplies::Kind::reset))
    return;
  std::array<std::byte, wire::kResetDatagramMin> bytes;
  random_.fill(bytes);
  wire::write_reset(cid, reset_token(cid), bytes);
  replies_.push(now, StatelessReplies::Kind::reset, datagram.remote, bytes);
}

}  // namespace longhaul::endpoint
