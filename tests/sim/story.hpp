// SPDX-License-Identifier: Apache-2.0
// What scenarios that are no table rows share: they act on what they observe.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "tests/sim/memory.hpp"
#include "tests/sim/world.hpp"

namespace longhaul::simtest {

inline constexpr std::uint16_t kStoryPort = 5201;

/// Two hosts, two endpoints, one connection.
struct Duet {
  Duet(std::uint64_t seed, const Line& line, Duration settle = std::chrono::milliseconds(500),
       base::PayloadMode mode = base::PayloadMode::bytes)
      : Duet(seed, line, endpoint_config(line), settle, mode) {}
  Duet(std::uint64_t seed, const Line& line, const EndpointConfig& config, Duration settle,
       base::PayloadMode mode = base::PayloadMode::bytes)
      : world(seed, mode), client_host(world.add_host(1)), server_host(world.add_host(2)) {
    world.connect_hosts(client_host, server_host, link_of(line), link_of(line));
    client = &world.open(client_host, config);
    server = &world.open(server_host, config);
    both = connect(world, *client, *server, World::address(2, kStoryPort), settle);
  }

  World world;
  sim::HostId client_host;
  sim::HostId server_host;
  Peer* client = nullptr;
  Peer* server = nullptr;
  Connected both;
};

inline ConstTensorView source_view(const std::byte* data, std::uint64_t bytes) {
  return bytes_view(static_cast<const void*>(data), bytes);
}

/// Status of the transfer with this cookie; pending if none has been seen.
inline Status ended(const Peer& peer, std::uint64_t cookie) {
  const Seen* seen = peer.find(Completion::Kind::transfer, cookie);
  return seen == nullptr ? Status::pending : seen->completion.status;
}

}  // namespace longhaul::simtest
