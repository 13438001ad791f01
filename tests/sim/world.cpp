// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/world.hpp"

#include <array>

namespace longhaul::simtest {
namespace {

constexpr std::uint64_t kFramingBytes = 38;
constexpr std::uint64_t kIpUdpBytes = 28;
// Bytes of a full packet that are not tensor, in the formula of DESIGN §6.
constexpr std::uint64_t kHeadersOfFormula = 56;

}  // namespace

netmodel::LinkConfig link_of(const Line& line, netmodel::LinkConfig faults) {
  faults.rate_bps = line.rate_bps;
  faults.propagation = line.rtt / 2;
  faults.mtu = line.mtu;
  return faults;
}

std::uint64_t payload_rate(const Line& line) {
  return line.rate_bps / (line.mtu + kFramingBytes) * (line.mtu - kIpUdpBytes);
}

std::uint64_t packets_of(const Line& line, std::uint64_t bytes) {
  const std::uint64_t chunk = line.mtu - kHeadersOfFormula;
  return (bytes + chunk - 1) / chunk;
}

Duration t_star(const Line& line, std::uint64_t bytes, double loss) {
  const double wire_ns =
      8e9 * static_cast<double>(line.mtu + kFramingBytes) / static_cast<double>(line.rate_bps);
  const double sending = static_cast<double>(packets_of(line, bytes)) * wire_ns / (1 - loss);
  return line.rtt / 2 + Duration(static_cast<Duration::rep>(sending));
}

World::World(std::uint64_t seed, base::PayloadMode mode) : simulation_(seed, mode), seed_(seed) {}

World::~World() {
  network().set_filter({});  // it may refer to what is gone by now
  for (Peer& peer : peers_) peer.endpoint_.close();
}

SocketAddress World::address(std::uint8_t host, std::uint16_t port) {
  SocketAddress address;
  address.bytes[0] = 10;
  address.bytes[3] = host;
  address.port = port;
  return address;
}

sim::HostId World::add_host(std::uint8_t number, std::uint32_t mtu) {
  sim::HostConfig config;
  config.mtu = mtu;
  return network().add_host(address(number, 0), config);
}

void World::connect_hosts(sim::HostId a, sim::HostId b, const netmodel::LinkConfig& a_to_b,
                          const netmodel::LinkConfig& b_to_a) {
  network().set_link(a, b, a_to_b);
  network().set_link(b, a, b_to_a);
}

Peer& World::open(sim::HostId host, EndpointConfig config) {
  config.seed = seed_ * 1000 + peers_.size() + 1;
  return peers_.emplace_back(must(simulation_.open(host, std::move(config)), "open"), host);
}

void World::poll_all() {
  std::array<Completion, 64> batch;
  for (Peer& peer : peers_) {
    while (const std::size_t count = peer.endpoint_.poll(batch)) {
      for (std::size_t i = 0; i < count; ++i) {
        peer.seen_.push_back({now(), batch[i]});
        ++peer.counts_[static_cast<std::size_t>(batch[i].kind)];
      }
    }
  }
}

void World::run_for(Duration duration) {
  run_until([] { return false; }, duration);
}

bool World::run_until(const std::function<bool()>& done, Duration limit) {
  return simulation_.run_until(
      [&] {
        poll_all();
        return done();
      },
      limit);
}

const Seen* Peer::find(Completion::Kind kind, std::uint64_t cookie) const noexcept {
  for (auto it = seen_.rbegin(); it != seen_.rend(); ++it) {
    if (it->completion.kind == kind && it->completion.cookie == cookie) return &*it;
  }
  return nullptr;
}

EndpointConfig endpoint_config(const Line& line) {
  EndpointConfig config;
  config.local.port = 5201;
  config.controller = "fixed";
  config.rate_bps = payload_rate(line);
  config.rtt_max = line.rtt + line.rtt / 2 + std::chrono::milliseconds(20);
  config.mtu_max = line.mtu;
  config.mtu_base = std::min<std::uint32_t>(1280, line.mtu);
  config.connections_max = 16;
  config.security = "none";
  return config;
}

Connected connect(World& world, Peer& client, Peer& server, const SocketAddress& server_address,
                  Duration settle) {
  must(server.endpoint().listen(), "listen");
  constexpr std::uint64_t kCookie = ~std::uint64_t{0};
  ConnectOptions options;
  options.cookie = kCookie;
  Connected both;
  both.client = must(client.endpoint().connect_async(server_address, options), "connect");
  const bool connected = world.run_until(
      [&] {
        return client.find(Completion::Kind::connected, kCookie) != nullptr &&
               server.count(Completion::Kind::incoming) != 0;
      },
      std::chrono::seconds(20));
  if (!connected || both.client.status() != Status::completed) {
    throw std::runtime_error("connecting ended with status " +
                             std::string(to_string(both.client.status())) + ": " +
                             both.client.reason());
  }
  both.server = must(server.endpoint().accept(), "accept");
  client.forget();
  server.forget();
  world.run_for(settle);
  return both;
}

}  // namespace longhaul::simtest
