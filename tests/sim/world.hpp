// SPDX-License-Identifier: Apache-2.0
// Endpoints of the public API on a simulated network, with what every scenario needs around them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/api/simulation.hpp"
#include "longhaul/longhaul.hpp"

namespace longhaul::simtest {

/// A test cannot go on without the value: throws with what failed.
template <typename T>
T must(Result<T> result, const char* what) {
  if (!result) throw std::runtime_error(std::string(what) + ": " + to_string(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// What a line is, the same both ways.
struct Line {
  std::uint64_t rate_bps = 10'000'000'000;  ///< bits on the wire per second
  Duration rtt = std::chrono::milliseconds(50);
  std::uint32_t mtu = 9000;  ///< largest IP packet
};

/// The link of a line with faults on top: rate, propagation and MTU of `faults` are overwritten.
netmodel::LinkConfig link_of(const Line& line, netmodel::LinkConfig faults = {});

/// Bits of UDP payload per second that fill the line with datagrams of its MTU, for `fixed`.
std::uint64_t payload_rate(const Line& line);

/// The limit of DESIGN §6: D + N·τ / (1 − p).
Duration t_star(const Line& line, std::uint64_t bytes, double loss);
/// N of that formula.
std::uint64_t packets_of(const Line& line, std::uint64_t bytes);

/// A completion and the moment it was seen.
struct Seen {
  Timestamp at{};
  Completion completion;
};

class Peer;

/// A simulation and its endpoints. `run_*` polls completions after every step.
class World {
 public:
  World(std::uint64_t seed, base::PayloadMode mode);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  api::Simulation& simulation() noexcept { return simulation_; }
  sim::Network& network() noexcept { return simulation_.network(); }
  Timestamp now() const noexcept { return simulation_.now(); }

  /// Host number n has the address 10.0.0.n.
  sim::HostId add_host(std::uint8_t number, std::uint32_t mtu = 9000);
  void connect_hosts(sim::HostId a, sim::HostId b, const netmodel::LinkConfig& a_to_b,
                     const netmodel::LinkConfig& b_to_a);
  Peer& open(sim::HostId host, EndpointConfig config);
  static SocketAddress address(std::uint8_t host, std::uint16_t port);

  void run_for(Duration duration);
  /// False when `limit` passed first.
  bool run_until(const std::function<bool()>& done, Duration limit);

 private:
  void poll_all();

  api::Simulation simulation_;
  std::uint64_t seed_;
  std::deque<Peer> peers_;
};

/// An endpoint and everything it has completed so far.
class Peer {
 public:
  Peer(Endpoint endpoint, sim::HostId host) : endpoint_(std::move(endpoint)), host_(host) {}

  Endpoint& endpoint() noexcept { return endpoint_; }
  sim::HostId host() const noexcept { return host_; }
  const std::vector<Seen>& seen() const noexcept { return seen_; }
  /// The newest completion of that kind for the request with this cookie; null if none.
  const Seen* find(Completion::Kind kind, std::uint64_t cookie) const noexcept;
  std::uint64_t count(Completion::Kind kind) const noexcept {
    return counts_[static_cast<std::size_t>(kind)];
  }
  void forget() {
    seen_.clear();
    counts_ = {};
  }

 private:
  friend class World;
  Endpoint endpoint_;
  sim::HostId host_;
  std::vector<Seen> seen_;
  std::array<std::uint64_t, 6> counts_{};
};

/// Configuration every scenario starts from: `fixed` at the line's rate, small tables.
EndpointConfig endpoint_config(const Line& line);

struct Connected {
  Connection client;
  Connection server;
};
/// Listens, connects, accepts and lets the MTU search end (or `settle` pass).
Connected connect(World& world, Peer& client, Peer& server, const SocketAddress& server_address,
                  Duration settle);

}  // namespace longhaul::simtest
