// SPDX-License-Identifier: Apache-2.0
// Endpoints joined by a line in memory, with time by hand: every datagram can be seen, dropped,
// changed or forged.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/endpoint/endpoint.hpp"

namespace longhaul::endpoint {

/// A datagram on the line.
struct Parcel {
  SocketAddress from;
  SocketAddress to;
  std::vector<std::byte> bytes;
  base::Ecn ecn = base::Ecn::not_ect;
  std::uint8_t dscp = 0;
};

SocketAddress address(std::uint8_t host, std::uint16_t port = 1000);

/// One endpoint, what it said, and memory for its transfers.
class Host {
 public:
  Host(const SocketAddress& where, const EndpointConfig& config, const Environment& environment)
      : address(where), endpoint(config, environment) {}

  /// Takes everything the endpoint has to tell.
  void listen_to_events();
  /// The connection that opened last; 0 if none.
  ConnectionId opened = 0;
  std::vector<ConnectionEvent> connections;
  /// Terminal events by transfer; a second one for the same is a test failure.
  std::map<TransferId, TransferEvent> transfers;
  Status status(TransferId id) const;

  SocketAddress address;
  Endpoint endpoint;
};

class Network {
 public:
  explicit Network(Duration one_way = std::chrono::milliseconds(5));

  /// Sensible for tests: a fixed rate, MTU 1500, seed by address.
  static EndpointConfig config();
  static Environment environment(std::uint64_t seed);
  Host& add(std::uint8_t number, const EndpointConfig& config = Network::config());
  Host& add(std::uint8_t number, const EndpointConfig& config, const Environment& environment);

  /// Inputs and outputs until nothing happens before `now + time`, or `done` says so.
  void run(
      Duration time, const std::function<bool()>& done = [] { return false; });
  /// Puts a datagram on the line as if `from` had sent it.
  void inject(const SocketAddress& from, const SocketAddress& to, std::vector<std::byte> bytes);

  void connect(Host& client, Host& server, Duration limit = std::chrono::seconds(5));
  /// Posts a receive and a send of `bytes` bytes with this id at both ends.
  void transfer(Host& from, Host& to, TransferId id, std::size_t bytes,
                const SendOptions& options = {}, const ReceiveOptions& wanted = {});
  bool arrived_whole(TransferId id) const { return sources_.at(id) == targets_.at(id); }
  std::span<std::byte> target(TransferId id) { return targets_.at(id); }

  /// False drops the datagram. Sees every one as it leaves, and may change it.
  std::function<bool(Parcel&)> on_leave = [](Parcel&) { return true; };
  /// Added to the delay of a datagram.
  std::function<Duration()> jitter = [] { return Duration{}; };

  Timestamp now = Timestamp{} + std::chrono::hours(1);
  std::uint64_t wakeups = 0;  ///< rounds in which time moved

 private:
  void drain();
  void drain(Host& host);
  void deliver_due();
  Host* find(const SocketAddress& where);

  Duration one_way_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::multimap<Timestamp, Parcel> under_way_;
  std::map<TransferId, std::vector<std::byte>> sources_;
  std::map<TransferId, std::vector<std::byte>> targets_;
  std::vector<std::vector<std::byte>> heads_;
  std::vector<base::TxDatagram> slots_;
};

}  // namespace longhaul::endpoint
