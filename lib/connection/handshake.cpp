// SPDX-License-Identifier: Apache-2.0
// What we say and when. What we hear: handshake_receive.cpp.
#include "lib/connection/handshake.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace longhaul::connection {
namespace {

// No round trip has been measured yet: the first repeat waits long enough for most of the earth.
constexpr Duration kFirstRepeat = std::chrono::milliseconds(250);
constexpr Duration kRepeatMax = std::chrono::seconds(1);
// A client that has not come back by now will not.
constexpr Duration kServerPatience = std::chrono::seconds(10);
// Header and integrity of an initial or accept, without token.
constexpr std::size_t kLongOverhead = wire::kLongHeaderBytes + wire::kCrcBytes;
// What the peer says it has may be made up: now and then everything is said again.
constexpr int kFlightsUntilAllAgain = 3;
constexpr int kTokenTries = 2;
// Enough for the server's first packet to be lost once.
constexpr int kFlightsUntilConfirmed = 2;
// A server that answers as often and never confirms waits for something we never said: a stranger's
// bytes came before ours.
constexpr int kFlightsUntilStuck = 4;
constexpr int kAnswersUntilStuck = 3;

std::uint32_t milliseconds(Duration duration) {
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

wire::TransportParameters own_parameters(const ConnectionConfig& config) {
  const EndpointConfig& endpoint = *config.endpoint;
  wire::TransportParameters own;
  own.max_datagram = config.datagram_max;
  own.peer_timeout_ms = milliseconds(endpoint.peer_timeout);
  own.heartbeat_ms =
      milliseconds(endpoint.heartbeat.count() > 0 ? endpoint.heartbeat : endpoint.peer_timeout / 5);
  own.eager_budget = endpoint.eager_budget;
  own.eager_max =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(endpoint.eager_max, UINT32_MAX));
  own.transfers_max = endpoint.transfers_max;
  // What a client says first is not encrypted, and whoever read its token could end the connection.
  if (config.role == Role::server || config.credentials == nullptr)
    own.reset_token = config.reset_token;
  own.reference_payload = config.payload_mode == base::PayloadMode::reference;
  if (config.credentials != nullptr) own.connection_id = config.own_cid;
  return own;
}

std::string host_of(const SocketAddress& address) {
  const std::string text = to_string(address);
  const std::string host = text.substr(0, text.rfind(':'));
  return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
}

}  // namespace

Handshake::Handshake(const ConnectionConfig& config, base::RandomSource& random, Timestamp now)
    : role_(config.role),
      own_cid_(config.own_cid),
      peer_cid_(config.peer_cid),
      attempt_(config.attempt),
      address_validated_(config.address_validated),
      credentials_(config.credentials),
      random_(random),
      peer_name_(to_string(config.remote)),
      peer_host_(host_of(config.remote)),
      peer_where_(fmt::format("UDP port {} of {}", config.remote.port, peer_host_)),
      own_(own_parameters(config)) {
  deadline_ = now + (role_ == Role::client ? config.connect_timeout : kServerPatience);
  begin_attempt(now);
}

void Handshake::begin_attempt(Timestamp now) {
  ++attempts_;
  if (secure()) {
    std::array<std::byte, 256> encoded;
    const std::size_t size = wire::write_transport_parameters(own_, encoded);
    const bool client = role_ == Role::client;
    tls_ = std::make_unique<crypto::TlsSession>(
        *credentials_, client ? crypto::TlsRole::client : crypto::TlsRole::server,
        std::span(encoded).first(size), client ? peer_name_ : std::string());
    stream_ = {};
    if (client) {
      tls_->receive({});
      tls_->take_output(stream_.outgoing());
    }
  }
  if (role_ == Role::server) return;
  in_flight_ = false;
  flights_ = flights_since_asked_ = answers_unconfirmed_ = 0;
  tokens_.clear();
  tokens_taken_ = 0;
  retried_after_ = {};
  send_at_ = now;
  interval_ = kFirstRepeat;
}

void Handshake::fail(ErrorCode code, std::string reason) {
  if (confirmed_ || failure_) return;
  failure_ = Failure{code, std::move(reason)};
  send_at_ = deadline_ = kNever;
}

Handshake::Failure Handshake::failure_of(base::Hindrance cause) const {
  switch (cause) {
    case base::Hindrance::no_route:
      return {ErrorCode::system,
              fmt::format("the network is unreachable, this machine has no route to {0}; check "
                          "`ip route get {0}` and that the interface is up",
                          peer_host_)};
    case base::Hindrance::forbidden:
      return {ErrorCode::no_permission,
              fmt::format("this machine lets no packet to {} out; look for a rule of its "
                          "firewall (`nft list ruleset`) or a prohibiting route",
                          peer_where_)};
    case base::Hindrance::port_closed:
      break;
  }
  return {ErrorCode::refused,
          fmt::format("nothing listens on {} (a wrong address or port, or no server yet)",
                      peer_where_)};
}

void Handshake::on_confirmed(Timestamp now) noexcept {
  if (confirmed_) return;
  confirmed_ = true;
  in_flight_ = false;
  send_at_ = deadline_ = kNever;
  // Late copies, and the server's session tickets, may still come.
  if (secure()) release_at_ = now + kServerPatience;
}

std::size_t Handshake::write_frames(std::span<std::byte> out) {
  if (secure()) return stream_.write(out);
  std::array<std::byte, 256> encoded;
  const std::size_t size = wire::write_transport_parameters(own_, encoded);
  std::size_t used =
      wire::write_frame(wire::TransportParametersFrame{std::span(encoded).first(size)}, out);
  used += wire::write_frame(wire::Handshake{}, out.subspan(used));
  return used;
}

std::size_t Handshake::write(Timestamp now, std::span<std::byte> out) {
  return role_ == Role::server ? write_answer(out) : write_initial(now, out);
}

// What does not fit, or a refusal of what was accepted before, may be a stranger's. Then the rest
// of the conversation gets through all the same.
bool Handshake::stands_still() const noexcept {
  if (stream_.received() != received_before_) return false;
  if (established() && flights_ >= kFlightsUntilStuck && answers_unconfirmed_ >= kAnswersUntilStuck)
    return true;
  return (broken_ || stream_.contradicted()) &&
         flights_ >= (established() ? kFlightsUntilConfirmed : 1);
}

// The one tried least. Now and then, after each had its turn, we ask for another, without any.
void Handshake::choose_token() {
  const auto next = std::ranges::min_element(tokens_, {}, &Token::tries);
  if (next == tokens_.end() || (next->tries > 0 && flights_since_asked_ >= kTokenTries)) {
    token_ = {};
    flights_since_asked_ = 0;
    tokens_taken_ = 0;
    return;
  }
  ++flights_since_asked_;
  ++next->tries;
  token_ = *next;
}

void Handshake::begin_flight(Timestamp now) {
  in_flight_ = true;
  choose_token();
  stream_.rewind(++flights_ % kFlightsUntilAllAgain == 0);
  ++flights_ever_;
  received_before_ = stream_.received();
  last_sent_ = now;
  if (std::ranges::find(tokens_, 0, &Token::tries) != tokens_.end()) {
    send_at_ = now;
    return;
  }
  send_at_ = now + interval_;
  interval_ = std::min(2 * interval_, std::max(kRepeatMax, interval_));
}

std::size_t Handshake::write_initial(Timestamp now, std::span<std::byte> out) {
  if (!in_flight_) {
    if (now < send_at_) return 0;
    begin_flight(now);
  }
  wire::LongHeader header;
  header.type = wire::LongType::initial;
  header.source_id = own_cid_;
  header.attempt = attempt_;
  header.number = next_number_++;
  header.token = std::span(token_.bytes).first(token_.size);
  // What the frames leave is zero, that is, PADDING.
  std::array<std::byte, wire::kInitialDatagramMin> frames{};
  const auto room = std::span(frames).first(frames.size() - kLongOverhead - token_.size);
  write_frames(room);
  in_flight_ = secure() && stream_.has_unsent();
  return wire::write_long_packet(header, room, out);
}

std::size_t Handshake::write_answer(std::span<std::byte> out) {
  if (!answer_due_) return 0;
  const std::size_t most = std::min(out.size(), wire::kInitialDatagramMin);
  if (!address_validated_ && may_answer_ < most) {
    answer_due_ = false;
    return 0;
  }
  wire::LongHeader header;
  header.type = wire::LongType::accept;
  header.destination_id = peer_cid_;
  header.source_id = own_cid_;
  header.attempt = attempt_;
  header.number = next_number_++;
  std::array<std::byte, wire::kInitialDatagramMin - kLongOverhead> frames;
  const std::size_t used = write_frames(frames);
  answer_due_ = secure() && stream_.has_unsent();
  const std::size_t size = wire::write_long_packet(header, std::span(frames).first(used), out);
  may_answer_ -= std::min<std::uint64_t>(may_answer_, size);
  return size;
}

void Handshake::handle_timeout(Timestamp now) {
  if (now >= release_at_) {
    release_at_ = kNever;
    tls_.reset();
    stream_ = {};
  }
  if (now >= send_at_ && !in_flight_ && stands_still()) begin_again(now);
  if (now < deadline_) return;
  if (refused_) return fail(ErrorCode::not_authenticated, *refused_);
  // Not enough to give up early, and all there is to say now.
  if (hindered_ && !heard_anything_)
    return fail(ErrorCode::timed_out, failure_of(hindered_->cause).reason);
  fail(ErrorCode::timed_out,
       heard_anything_ ? fmt::format("{} answered but set-up did not finish in time", peer_name_)
                       : fmt::format("no answer from {}: a wrong address, no server there, or a "
                                     "firewall that drops UDP",
                                     peer_name_));
}

Timestamp Handshake::next_timeout() const noexcept {
  if (answer_due_ || in_flight_) return Timestamp::min();
  return std::min({send_at_, deadline_, release_at_});
}

}  // namespace longhaul::connection
