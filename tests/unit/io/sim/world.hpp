// SPDX-License-Identifier: Apache-2.0
// Two hosts, a link each way, one open port each; and short ways to send and receive.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/io/sim/network.hpp"

namespace longhaul::sim {

inline SocketAddress address_of(std::uint8_t last, std::uint16_t port = 0) {
  SocketAddress address;
  address.bytes = {10, 0, 0, last};
  address.port = port;
  return address;
}

/// A datagram received, with its own memory.
struct Received {
  std::vector<std::byte> data;
  std::size_t size = 0;
  SocketAddress remote;
  Timestamp arrival{};
  base::Ecn ecn{};
  std::uint8_t dscp = 0;
  bool damaged = false;
};

inline std::vector<Received> receive_all(io::Backend& backend, Timestamp now) {
  std::vector<Received> all;
  std::vector<base::RxDatagram> burst(16);
  while (const std::size_t count = backend.receive(now, burst)) {
    for (std::size_t i = 0; i < count; ++i) {
      const base::RxDatagram& d = burst[i];
      all.push_back({{d.data.begin(), d.data.end()},
                     d.size(),
                     d.remote,
                     d.received_at,
                     d.ecn,
                     d.dscp,
                     d.damaged});
    }
  }
  return all;
}

inline std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

inline void send(io::Backend& backend, const SocketAddress& to, std::vector<std::byte> head,
                 Timestamp now, Timestamp departure = {}, std::span<const std::byte> payload = {}) {
  base::TxDatagram datagram;
  datagram.head = head;
  datagram.head_size = head.size();
  datagram.payload = payload;
  datagram.remote = to;
  datagram.departure = departure;
  backend.transmit(now, {&datagram, 1});
}

struct World {
  explicit World(const netmodel::LinkConfig& link = {}, const HostConfig& host = {},
                 base::PayloadMode mode = base::PayloadMode::bytes, std::uint64_t seed = 1)
      : network(seed, mode) {
    left = network.add_host(address_of(1), host);
    right = network.add_host(address_of(2), host);
    network.set_link(left, right, link);
    network.set_link(right, left, link);
    a = *network.open_backend(left, 1000);
    b = *network.open_backend(right, 2000);
  }
  /// Moves to the next arrival and says when that is.
  Timestamp step() {
    const Timestamp next = network.next_arrival();
    if (next != kNever) network.advance_to(next);
    return next;
  }
  Timestamp now() const { return network.now(); }

  Network network;
  HostId left;
  HostId right;
  std::unique_ptr<io::Backend> a;
  std::unique_ptr<io::Backend> b;
};

}  // namespace longhaul::sim
