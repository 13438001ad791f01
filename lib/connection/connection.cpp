// SPDX-License-Identifier: Apache-2.0
// Birth, requests, timers and end. Packets in: connection_receive.cpp; out:
// connection_transmit.cpp.
#include "lib/connection/connection.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/assert.hpp"
#include "lib/connection/budget.hpp"
#include "lib/crypto/aead_protection.hpp"
#include "lib/crypto/crc_protection.hpp"
#include "lib/crypto/keyed_hash.hpp"
#include "lib/transfer/refusal.hpp"

namespace longhaul::connection {
namespace {

constexpr Duration kInitialRtt = std::chrono::milliseconds(100);

path::PathConfig path_config(const ConnectionConfig& config) {
  const EndpointConfig& endpoint = *config.endpoint;
  const auto overhead = static_cast<std::uint32_t>(ip_udp_overhead(config.remote.family));
  path::PathConfig result;
  result.remote = config.remote;
  result.make_controller = config.make_controller;
  result.rate_bps = endpoint.rate_bps;
  result.mtu.max = std::min(endpoint.mtu_max - overhead, config.datagram_max);
  result.mtu.base = std::min(endpoint.mtu_base - overhead, result.mtu.max);
  return result;
}

transfer::TransferLimits own_limits(const ConnectionConfig& config) {
  const EndpointConfig& endpoint = *config.endpoint;
  return {endpoint.transfers_max, endpoint.eager_budget,
          static_cast<std::uint32_t>(std::min<std::uint64_t>(endpoint.eager_max, UINT32_MAX)),
          config.payload_mode};
}

Duration heartbeat(const EndpointConfig& endpoint) {
  return endpoint.heartbeat.count() > 0 ? endpoint.heartbeat : endpoint.peer_timeout / 5;
}

}  // namespace

Connection::Connection(const ConnectionConfig& config, Timestamp now,
                       std::deque<transfer::Event>& events, DropCounts& drops)
    : config_(config),
      random_(config.entropy),
      life_{Handshake(config, random_, now),
            Liveness(now, heartbeat(*config.endpoint), config.endpoint->peer_timeout),
            {},
            false},
      path_(path_config(config), kInitialRtt),
      spaces_(path_.serial(), runs_max(*config.endpoint)),
      protection_(std::make_unique<crypto::CrcProtection>(config.payload_mode)),
      senders_({config.id, control_.frames, events}, own_limits(config)),
      receivers_({config.id, control_.frames, events}, own_limits(config)) {
  config_.entropy = {};
  shared_.events = &events;
  shared_.drops = &drops;
  counts_.limit_since = now;
}

void Connection::on_established(Timestamp now) {
  const wire::TransportParameters& peer = life_.handshake.peer();
  if (life_.handshake.secure()) {
    protection_ =
        std::make_unique<crypto::AeadProtection>(life_.handshake.secrets(), config_.aead_limits);
    for (const TrafficClass c : Spaces::kAll) spaces_.send(c).skip_numbers(random_);
    // A client that finished the handshake has received what was sent to its address.
    config_.address_validated = true;
  }
  if (peer.max_datagram < path_.mtu().max_datagram() || peer.max_datagram < config_.datagram_max)
    path_.mtu().set_max(peer.max_datagram);
  senders_.set_peer_limits(
      {peer.transfers_max, peer.eager_budget, peer.eager_max, config_.payload_mode});
  life_.liveness.on_peer_timeout(std::chrono::milliseconds(peer.peer_timeout_ms));
  life_.liveness.on_heard(now);
  if (const auto sample = life_.handshake.rtt_sample()) path_.rtt().on_sample(*sample, {});
  if (life_.handshake.confirmed()) on_confirmed(now);
}

void Connection::on_confirmed(Timestamp now) {
  life_.handshake.on_confirmed(now);
  life_.told_connected = true;
  // The other end learns by this that our last word, or its, arrived, and measures the round trip.
  if (config_.role == Role::client || life_.handshake.secure()) ask_for_answer(now);
  transfer::ConnectionEvent event;
  event.kind = config_.role == Role::client ? transfer::ConnectionEvent::Kind::connected
                                            : transfer::ConnectionEvent::Kind::incoming;
  event.connection = config_.id;
  event.status = Status::completed;
  event.remote = path_.remote();
  shared_.events->emplace_back(std::move(event));
}

void Connection::ask_for_answer(Timestamp now) {
  const Timestamp long_ago = now - std::chrono::hours(1);
  control_.last_ping = long_ago;
  life_.liveness.on_asked(long_ago);
}

bool Connection::handle_initial(Timestamp now, const wire::LongPacket& packet) {
  if (!life_.closing.is_open()) return true;
  const bool was_established = life_.handshake.established();
  if (!life_.handshake.on_initial(now, packet)) return false;
  if (!was_established && life_.handshake.established()) {
    on_established(now);
  } else if (was_established && life_.handshake.secure()) {
    ask_for_answer(now);
  }
  check_failures();
  return true;
}

void Connection::handle_long_packet(Timestamp now, const wire::LongPacket& packet) {
  if (!life_.closing.is_open()) return;
  const bool was_established = life_.handshake.established();
  life_.handshake.on_long_packet(now, packet);
  if (!was_established && life_.handshake.established()) on_established(now);
  check_failures();
}

void Connection::handle_version_negotiation(Timestamp now,
                                            std::span<const std::uint32_t> versions) {
  life_.handshake.on_version_negotiation(now, versions);
  check_failures();
}

void Connection::handle_refusal(Timestamp now, base::Hindrance cause) {
  if (!connecting()) return;
  life_.handshake.on_refusal(now, cause);
  check_failures();
}

void Connection::handle_too_big(Timestamp now, std::uint32_t size) {
  if (!life_.closing.is_open() || connecting()) return;
  path_.mtu().on_too_big_locally(now, size);
  if (path_.mtu().take_changed()) apply_mtu_change(now);
}

void Connection::handle_reset(const wire::ResetToken& token) {
  if (!life_.handshake.established() || !life_.handshake.peer().reset_token) return;
  if (!crypto::equal_in_constant_time(*life_.handshake.peer().reset_token, token)) return;
  if (!life_.closing.is_open()) return life_.closing.finish();
  end(Status::peer_lost, "the peer has no such connection any more (restarted?)",
      ErrorCode::peer_lost);
  life_.closing.finish();
}

void Connection::send(Timestamp now, transfer::SendRequest&& request) {
  const base::PoisonScope scope;
  senders_.start(now, std::move(request));
  check_poison(now, scope);
}

void Connection::receive(Timestamp now, transfer::ReceiveRequest&& request) {
  const base::PoisonScope scope;
  receivers_.start(now, std::move(request));
  check_poison(now, scope);
}

void Connection::cancel(Timestamp now, transfer::TransferId id) {
  const base::PoisonScope scope;
  senders_.cancel(now, id);
  receivers_.cancel(now, id);
  check_poison(now, scope);
}

void Connection::ready(Timestamp now, transfer::TransferId id, std::uint64_t bytes) {
  const base::PoisonScope scope;
  senders_.ready(id, bytes);
  check_poison(now, scope);
}

void Connection::close(Timestamp now, std::string_view reason) {
  if (!life_.closing.is_open()) return;
  if (!life_.handshake.established()) {
    end(Status::closed, reason);
    life_.closing.finish();
    return;
  }
  end_and_tell(now, Status::closed, wire::CloseCode::no_error, reason);
}

void Connection::end(Status status, std::string_view reason, ErrorCode error) {
  const std::string kept(reason);
  senders_.end_all(status, kept);
  receivers_.end_all(status, kept);
  transfer::ConnectionEvent event;
  event.kind = life_.told_connected ? transfer::ConnectionEvent::Kind::disconnected
                                    : transfer::ConnectionEvent::Kind::connected;
  event.connection = config_.id;
  event.status = status;
  event.remote = path_.remote();
  event.error = error;
  event.reason = kept;
  shared_.events->emplace_back(std::move(event));
}

void Connection::end_and_tell(Timestamp now, Status status, wire::CloseCode code,
                              std::string_view reason) {
  if (!life_.closing.is_open()) return;
  end(status, reason);
  life_.closing.close(now, code, std::string(reason), 3 * path_.rtt().pto());
}

void Connection::check_failures() {
  if (!life_.closing.is_open() || !life_.handshake.failure()) return;
  const Handshake::Failure& failure = *life_.handshake.failure();
  const Status status = failure.code == ErrorCode::timed_out ? Status::timed_out : Status::refused;
  if (config_.role == Role::client || life_.told_connected)
    end(status, failure.reason, failure.code);
  else if (failure.code == ErrorCode::not_authenticated)
    shared_.events->emplace_back(transfer::refused_client(path_.remote(), failure.reason));
  life_.closing.finish();
}

void Connection::check_keys(Timestamp now) {
  if (protection_->exhausted())
    end_and_tell(now, Status::internal, wire::CloseCode::internal,
                 "a packet key is used up: too many forged packets, or no ACK to renew it by");
}

void Connection::check_poison(Timestamp now, const base::PoisonScope& scope) {
  if (!scope.poisoned() || !life_.closing.is_open()) return;
  const std::string what =
      fmt::format("broken invariant {} at {}:{}", scope.message(), scope.file(), scope.line());
  end_and_tell(now, Status::internal, wire::CloseCode::internal, what);
}

void Connection::handle_timeout(Timestamp now) {
  const base::PoisonScope scope;
  if (!life_.closing.is_open()) return life_.closing.handle_timeout(now);
  life_.handshake.handle_timeout(now);
  if (!life_.handshake.confirmed()) return check_failures();
  if (life_.liveness.lost(now)) {
    const auto silence =
        std::chrono::duration_cast<std::chrono::milliseconds>(life_.liveness.silence(now));
    end(Status::peer_lost,
        fmt::format(
            "nothing heard from {} for {} ms; see whether it still runs and the line is up, "
            "or raise peer_timeout if the line pauses for so long",
            to_string(path_.remote()), silence.count()),
        ErrorCode::peer_lost);
    life_.closing.finish();
    return;
  }
  senders_.handle_timeout(now, 3 * path_.rtt().pto());
  receivers_.handle_timeout(now);
  follow_peer(now);
  path_.mtu().handle_timeout(now);
  if (path_.mtu().take_changed()) apply_mtu_change(now);
  check_poison(now, scope);
}

bool Connection::poll_notification(transfer::Event& event) {
  if (receivers_.poll_notification(event)) return true;
  transfer::ProgressEvent progress;
  if (!senders_.poll_progress(progress)) return false;
  event = progress;
  return true;
}

// RFC 9000 §8.1: an address that has proven nothing gets answers to its initials, each much smaller
// than what it answers. A packet with our connection ID proves that our answer was received.
bool Connection::may_speak() const noexcept {
  return config_.role == Role::client || config_.address_validated || counts_.packets_received > 0;
}

Timestamp Connection::next_timeout() const {
  if (!life_.closing.is_open()) return life_.closing.next_timeout();
  if (!life_.handshake.confirmed()) return life_.handshake.next_timeout();
  if (!may_speak())
    return std::min({life_.liveness.lost_at(), life_.handshake.next_timeout(),
                     senders_.next_timeout(), receivers_.next_timeout()});
  Timestamp next =
      std::min({life_.liveness.next_timeout(answer_patience()), life_.handshake.next_timeout(),
                senders_.next_timeout(), receivers_.next_timeout(), path_.mtu().next_timeout(),
                validator_.next_timeout()});
  next = std::min(
      next, std::max(control_.frames.next_due(), path_.pacer().next_send_time(Timestamp::min())));
  auto& spaces = const_cast<Spaces&>(spaces_);
  next = std::min(next, control_.acknowledger.next_due(spaces));
  if (!control_.path_responses.empty()) next = Timestamp::min();
  bool work = false;
  for (const TrafficClass c : Spaces::kData) {
    next = std::min(next, marker_due(c));
    work = work || senders_.has_work(c);
  }
  if (work && has_window()) next = std::min(next, path_.pacer().next_send_time(Timestamp::min()));
  return next;
}

ConnectionStats Connection::stats() const {
  ConnectionStats stats;
  stats.packets_sent = counts_.packets_sent;
  stats.packets_received = counts_.packets_received;
  stats.packets_lost = counts_.packets_lost;
  stats.spurious_losses = counts_.spurious_losses;
  stats.bytes_sent = counts_.bytes_sent;
  stats.bytes_received = counts_.bytes_received;
  stats.tensor_bytes_sent = senders_.bytes_left_once();
  stats.retransmitted_bytes = senders_.bytes_sent_again();
  stats.tensor_bytes_verified = receivers_.verified_bytes();
  stats.duplicate_bytes = receivers_.duplicate_bytes();
  stats.pieces_refetched = receivers_.refetched_pieces();
  stats.bytes_in_flight = path_.bytes_in_flight();
  stats.congestion_window = path_.controller().congestion_window();
  stats.pacing_rate_bps = path_.controller().pacing_rate();
  stats.max_datagram = path_.mtu().max_datagram();
  stats.mtu_black_holes = path_.mtu().black_holes();
  stats.migrations = counts_.migrations;
  stats.min_rtt = path_.rtt().min();
  stats.smoothed_rtt = path_.rtt().smoothed();
  stats.rtt_variation = path_.rtt().variation();
  auto& spaces = const_cast<Spaces&>(spaces_);
  for (const TrafficClass c : Spaces::kData)
    stats.reordering_window = std::max(stats.reordering_window, spaces.send(c).window());
  stats.limited_by_congestion = counts_.limited[static_cast<std::size_t>(Limit::congestion)];
  stats.limited_by_receiver = counts_.limited[static_cast<std::size_t>(Limit::receiver)];
  stats.limited_by_application = counts_.limited[static_cast<std::size_t>(Limit::application)];
  stats.controller = path_.controller().name();
  stats.peer_identity = life_.handshake.peer_identity();
  stats.cipher = protection_->name();
  stats.key_updates = protection_->key_updates();
  return stats;
}

void Connection::dump(Timestamp now, std::vector<std::string>& lines) const {
  const std::size_t first = lines.size();
  senders_.dump(now, lines);
  receivers_.dump(now, lines);
  for (std::size_t i = first; i < lines.size(); ++i)
    lines[i] =
        fmt::format("connection {:#x} peer {} {}", config_.id, to_string(path_.remote()), lines[i]);
}

}  // namespace longhaul::connection
