// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/connection/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "congestion/registry.hpp"
#include "lib/base/random.hpp"
#include "lib/crypto/secret_random.hpp"

namespace longhaul::endpoint {

SocketAddress address(std::uint8_t host, std::uint16_t port) {
  SocketAddress result;
  result.bytes = {10, 0, 0, host};
  result.port = port;
  return result;
}

void Host::listen_to_events() {
  while (auto event = endpoint.poll_event()) {
    if (const auto* connection = std::get_if<ConnectionEvent>(&*event)) {
      connections.push_back(*connection);
      if (connection->status == Status::completed) opened = connection->connection;
    } else if (const auto* transfer = std::get_if<TransferEvent>(&*event)) {
      EXPECT_TRUE(transfers.emplace(transfer->transfer, *transfer).second)
          << "transfer " << transfer->transfer << " ended twice";
    }
  }
}

Status Host::status(TransferId id) const {
  const auto it = transfers.find(id);
  return it == transfers.end() ? Status::pending : it->second.status;
}

Network::Network(Duration one_way) : one_way_(one_way) {
  constexpr std::size_t kSlots = 32;
  heads_.resize(kSlots, std::vector<std::byte>(9000));
  slots_.resize(kSlots);
  for (std::size_t i = 0; i < kSlots; ++i) slots_[i].head = heads_[i];
}

EndpointConfig Network::config() {
  EndpointConfig config;
  config.rate_bps = 100'000'000;
  config.mtu_max = 1500;
  config.security = "none";
  return config;
}

Environment Network::environment(std::uint64_t seed) {
  Environment environment(crypto::simulated_entropy(seed));
  environment.make_controller = congestion::find_controller("fixed");
  environment.departure_times = true;  // see drain()
  return environment;
}

Host& Network::add(std::uint8_t number, const EndpointConfig& config) {
  return add(number, config, environment(number));
}

Host& Network::add(std::uint8_t number, const EndpointConfig& config,
                   const Environment& environment) {
  hosts_.push_back(std::make_unique<Host>(endpoint::address(number), config, environment));
  return *hosts_.back();
}

Host* Network::find(const SocketAddress& where) {
  const auto it = std::ranges::find(hosts_, where, [](const auto& host) { return host->address; });
  return it == hosts_.end() ? nullptr : it->get();
}

void Network::inject(const SocketAddress& from, const SocketAddress& to,
                     std::vector<std::byte> bytes) {
  under_way_.insert({now, {from, to, std::move(bytes), base::Ecn::not_ect, 0}});
}

void Network::drain(Host& host) {
  while (const std::size_t count = host.endpoint.poll_transmit(now, slots_)) {
    for (std::size_t i = 0; i < count; ++i) {
      const base::TxDatagram& slot = slots_[i];
      Parcel parcel{host.address, slot.remote, {}, slot.ecn, slot.dscp};
      parcel.bytes.assign(slot.head.begin(),
                          slot.head.begin() + static_cast<std::ptrdiff_t>(slot.head_size));
      parcel.bytes.insert(parcel.bytes.end(), slot.payload.begin(), slot.payload.end());
      if (on_leave(parcel))
        under_way_.insert({std::max(now, slot.departure) + one_way_ + jitter(), parcel});
    }
  }
  host.listen_to_events();
}

void Network::drain() {
  for (const auto& host : hosts_) drain(*host);
}

void Network::deliver_due() {
  while (!under_way_.empty() && under_way_.begin()->first <= now) {
    Parcel parcel = std::move(under_way_.begin()->second);
    under_way_.erase(under_way_.begin());
    Host* to = find(parcel.to);
    if (to == nullptr) continue;
    base::RxDatagram datagram;
    datagram.data = parcel.bytes;
    datagram.remote = parcel.from;
    datagram.received_at = now;
    datagram.ecn = parcel.ecn;
    to->endpoint.handle_datagrams(now, std::span(&datagram, 1));
  }
}

void Network::run(Duration time, const std::function<bool()>& done) {
  const Timestamp end = now + time;
  for (;;) {
    deliver_due();
    for (const auto& host : hosts_) host->endpoint.handle_timeout(now);
    drain();
    if (done()) return;
    Timestamp next = under_way_.empty() ? kNever : under_way_.begin()->first;
    for (const auto& host : hosts_) {
      // The drain contract: a drained endpoint wants nothing more at this moment.
      ASSERT_GT(host->endpoint.next_timeout(), now);
      next = std::min(next, host->endpoint.next_timeout());
    }
    if (next > end) break;
    now = std::max(now, next);
    ++wakeups;
  }
  now = end;
}

void Network::connect(Host& client, Host& server, Duration limit) {
  server.endpoint.listen();
  static constexpr ConnectionId kFirst = 1;
  const ConnectionId id = kFirst + client.connections.size();
  client.opened = server.opened = 0;
  client.endpoint.connect(now, {id, server.address, limit});
  run(limit + std::chrono::seconds(1), [&] { return client.opened != 0 && server.opened != 0; });
  ASSERT_NE(client.opened, 0u);
  ASSERT_NE(server.opened, 0u);
}

void Network::transfer(Host& from, Host& to, TransferId id, std::size_t bytes,
                       const SendOptions& options, const ReceiveOptions& wanted) {
  base::Random random(id);
  auto& source = sources_[id];
  source.resize(bytes);
  for (std::byte& byte : source) byte = static_cast<std::byte>(random.next());
  auto& target = targets_[id] = std::vector<std::byte>(bytes);
  ReceiveRequest receive{to.opened, id, id, {{target, Dtype::u8, Shape{bytes}}}, wanted};
  to.endpoint.receive(now, std::move(receive));
  SendRequest send{from.opened, id, id, {{source, Dtype::u8, Shape{bytes}}}, options};
  from.endpoint.send(now, std::move(send));
}

}  // namespace longhaul::endpoint
