// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "lib/connection/connection.hpp"
#include "lib/crypto/keyed_hash.hpp"
#include "lib/crypto/secret_random.hpp"
#include "lib/endpoint/address_validation.hpp"
#include "lib/endpoint/agenda.hpp"
#include "lib/endpoint/connection_table.hpp"
#include "lib/endpoint/ended_attempts.hpp"
#include "lib/endpoint/endpoint.hpp"
#include "lib/endpoint/half_open.hpp"
#include "lib/endpoint/stateless_replies.hpp"

namespace longhaul::endpoint {

class Endpoint::Impl {
 public:
  Impl(const EndpointConfig& config, const Environment& environment);

  void connect(Timestamp now, const ConnectRequest& request);
  void send(Timestamp now, SendRequest&& request);
  void receive(Timestamp now, ReceiveRequest&& request);
  /// The connection, marked as touched; null if it is gone.
  connection::Connection* touch(ConnectionId id);
  void close_all(Timestamp now, std::string_view reason);

  void handle_datagrams(Timestamp now, std::span<base::RxDatagram> burst);
  void handle_refusals(Timestamp now, std::span<const base::Refusal> refused);
  void handle_too_big(Timestamp now, std::span<const base::TooBig> refused);
  bool connecting();
  void handle_timeout(Timestamp now);
  std::size_t poll_transmit(Timestamp now, std::span<base::TxDatagram> slots);
  std::optional<Event> poll_event();
  Timestamp next_timeout() const;
  Duration shortest_rtt(Timestamp now);

  EndpointConfig config;
  Environment environment;
  bool listening = false;
  ConnectionTable connections;
  connection::DropCounts drops{};

 private:
  // endpoint_datagrams.cpp
  std::size_t handle_run(Timestamp now, std::span<base::RxDatagram> burst);
  void handle_long(Timestamp now, const base::RxDatagram& datagram);
  void handle_initial(Timestamp now, const base::RxDatagram& datagram,
                      const wire::LongPacket& packet);
  void handle_reset(const base::RxDatagram& datagram);
  void reply_version(Timestamp now, const base::RxDatagram& datagram, const wire::LongPeek& peek);
  void reply_retry(Timestamp now, const base::RxDatagram& datagram, const wire::LongPacket& packet);
  void refuse(Timestamp now, const base::RxDatagram& datagram, const wire::LongPacket& packet,
              wire::CloseCode code, std::string_view reason);
  void reply_reset(Timestamp now, const base::RxDatagram& datagram, std::uint32_t cid);
  bool forget_half_open(Timestamp now);
  void accept(Timestamp now, const base::RxDatagram& datagram, const wire::LongPacket& packet,
              bool validated);

  connection::ConnectionConfig new_connection(const SocketAddress& remote);
  wire::ResetToken reset_token(std::uint32_t cid) const;
  void drop(DropReason reason) noexcept { ++drops[static_cast<std::size_t>(reason)]; }
  void note(std::uint32_t cid);
  void bury_done(Timestamp now);

  crypto::SecretRandom random_;
  AddressValidation address_validation_;
  crypto::KeyedHash reset_hash_;
  EndedAttempts ended_attempts_;
  HalfOpen half_open_;
  StatelessReplies replies_;
  Agenda agenda_;
  std::deque<Event> events_;
  std::vector<std::uint32_t> connecting_;  // our connection IDs; some may be done with it
  std::vector<std::uint32_t> noted_;       // connections that may have notifications
  std::uint64_t next_incoming_ = 1;
  Duration shortest_rtt_{};
  Timestamp shortest_rtt_until_ = Timestamp::min();  // then it is looked at again
  bool some_done_ = false;
};

}  // namespace longhaul::endpoint
