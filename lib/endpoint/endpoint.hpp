// SPDX-License-Identifier: Apache-2.0
// The whole core as one sans-IO state machine: datagrams and time in, datagrams and deadlines out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/base/datagram.hpp"
#include "lib/crypto/aead_protection.hpp"
#include "lib/crypto/credentials.hpp"
#include "lib/crypto/secrets.hpp"
#include "lib/endpoint/messages.hpp"
#include "longhaul/config.hpp"
#include "longhaul/congestion.hpp"
#include "longhaul/stats.hpp"

namespace longhaul::endpoint {

/// What the core needs to know that is not in the public configuration.
struct Environment {
  /// `secrets`: 32 bytes nobody can know, from the system; all that is drawn, keys included, comes
  /// from them, so that equal ones give equal traces (crypto::simulated_entropy).
  explicit Environment(const crypto::Secret& secrets) : entropy(secrets) {}

  crypto::Secret entropy;
  congestion::ControllerFactory make_controller = nullptr;
  base::PayloadMode payload_mode = base::PayloadMode::bytes;
  std::size_t datagram_max = 65507;  ///< the backend's
  AddressFamily family = AddressFamily::ipv4;
  /// The backend honours `TxDatagram::departure`; else packets leave when handed over.
  bool departure_times = false;
  std::shared_ptr<crypto::Credentials> credentials;  ///< null: security none
  crypto::AeadLimits aead_limits{};
};

/// Owned by one worker. Drain contract: after any number of inputs at one `now`, call
/// `poll_transmit` until it returns 0 or the backend blocks, and `poll_event` until it is empty,
/// before time moves on. `now` never goes backwards.
class Endpoint {
 public:
  Endpoint(const EndpointConfig& config, const Environment& environment);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // Requests of the application. Each transfer request ends in exactly one TransferEvent, also when
  // its connection is unknown (closed).
  void listen();
  void connect(Timestamp now, const ConnectRequest& request);
  void send(Timestamp now, SendRequest&& request);
  void receive(Timestamp now, ReceiveRequest&& request);
  void cancel(Timestamp now, ConnectionId connection, TransferId transfer);
  void ready(Timestamp now, ConnectionId connection, TransferId transfer, std::uint64_t bytes);
  void close(Timestamp now, ConnectionId connection, std::string_view reason);
  /// Closes every connection; events and close packets still have to be drained.
  void close_all(Timestamp now, std::string_view reason);

  // The five entry points.
  void handle_datagrams(Timestamp now, std::span<base::RxDatagram> burst);
  /// Addresses that answered, as anybody on the way may claim, that nobody listens there. Counts
  /// for those who connect to them and for nobody else.
  void handle_refusals(Timestamp now, std::span<const base::Refusal> refused);
  /// Datagrams our own system did not send.
  void handle_too_big(Timestamp now, std::span<const base::TooBig> refused);
  void handle_timeout(Timestamp now);
  /// Fills the front of `slots`; returns how many.
  std::size_t poll_transmit(Timestamp now, std::span<base::TxDatagram> slots);
  std::optional<Event> poll_event();
  /// When `handle_timeout` / `poll_transmit` must be called next; kNever if only input can help.
  Timestamp next_timeout() const;

  /// Of the connections' measured round trips, as of some milliseconds ago; zero while one is not
  /// known, or without connections.
  Duration shortest_rtt(Timestamp now);

  /// Somebody connects, so `handle_refusals` is of use.
  bool connecting();

  // Queries.
  std::optional<ConnectionStats> connection_stats(ConnectionId connection) const;
  EndpointStats stats() const;  ///< backend's datagram counters are added by the runtime
  /// One line per outstanding transfer.
  void dump(Timestamp now, std::vector<std::string>& lines) const;
  /// Bytes of memory the configuration may need, and how that was computed.
  static std::uint64_t memory_budget(const EndpointConfig& config, std::string& arithmetic);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longhaul::endpoint
