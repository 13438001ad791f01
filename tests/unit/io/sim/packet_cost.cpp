// SPDX-License-Identifier: Apache-2.0
// Prints what one simulated packet costs on this machine: two hosts, 10 Gbit/s, 25 ms one way,
// reference payloads, bursts as a worker sends them.
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <vector>

#include "tests/unit/io/sim/world.hpp"

namespace {

using namespace longhaul;
using namespace std::chrono_literals;

/// Processor time, so that other programs on the machine do not count.
double processor_nanoseconds() {
  return 1e9 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

double nanoseconds_per_packet(const netmodel::LinkConfig& link, bool paced, int packets) {
  sim::World world(link, {}, base::PayloadMode::reference);
  constexpr std::size_t kBurst = 32;
  std::vector<std::byte> head(22);
  const std::vector<std::byte> payload(8950);
  std::vector<base::TxDatagram> burst(kBurst);
  for (auto& datagram : burst) {
    datagram.head = head;
    datagram.head_size = head.size();
    datagram.payload = payload;
    datagram.remote = sim::address_of(2, 2000);
  }
  std::vector<base::RxDatagram> in(64);
  std::size_t received = 0;
  const double begin = processor_nanoseconds();
  const Duration gap = 7300ns;
  Timestamp next{};
  for (int sent = 0; sent < packets; sent += static_cast<int>(kBurst)) {
    while (world.network.next_arrival() <= next) {
      world.network.advance_to(world.network.next_arrival());
      while (const std::size_t n = world.b->receive(world.now(), in)) received += n;
    }
    world.network.advance_to(next);
    for (std::size_t i = 0; i < kBurst; ++i) {
      burst[i].departure = paced ? next + gap * static_cast<std::int64_t>(i) : Timestamp{};
    }
    world.a->transmit(world.now(), burst);
    next += gap * kBurst;
  }
  const double spent = processor_nanoseconds() - begin;
  std::printf("  %zu of %d received\n", received, packets);
  return spent / packets;
}

void report(std::string_view name, const netmodel::LinkConfig& link, bool paced) {
  const double cost = nanoseconds_per_packet(link, paced, 2'000'000);
  std::printf("%-40.*s %6.1f ns a packet\n", static_cast<int>(name.size()), name.data(), cost);
}

/// Every host sends to every other in turn, as a collective does.
void report_grid(std::uint8_t hosts, int rounds) {
  sim::Network network(1, base::PayloadMode::reference);
  std::vector<std::unique_ptr<io::Backend>> backends;
  std::vector<sim::HostId> ids;
  for (std::uint8_t i = 0; i < hosts; ++i) {
    ids.push_back(network.add_host(sim::address_of(i)));
    backends.push_back(*network.open_backend(ids.back(), 1));
  }
  for (const sim::HostId from : ids) {
    for (const sim::HostId to : ids) {
      if (from == to) continue;
      network.set_link(from, to, {.rate_bps = 10'000'000'000, .propagation = 5ms + 1ms * to.index});
    }
  }
  std::vector<std::byte> head(22);
  const std::vector<std::byte> payload(8950);
  std::vector<base::TxDatagram> burst(4);
  std::vector<base::RxDatagram> in(64);
  const auto receive = [&] {
    for (const sim::HostId id : ids) {
      if (!network.readable(id, 1)) continue;
      while (backends[id.index]->receive(network.now(), in) > 0) {
      }
    }
  };
  const double begin = processor_nanoseconds();
  for (int round = 0; round < rounds; ++round) {
    const Timestamp until = network.now() + 20us;
    for (std::uint8_t i = 0; i < hosts; ++i) {
      const auto peer = static_cast<std::uint8_t>((i + 1 + round % (hosts - 1)) % hosts);
      for (auto& datagram : burst) {
        datagram = {};
        datagram.head = head;
        datagram.head_size = head.size();
        datagram.payload = payload;
        datagram.remote = sim::address_of(peer, 1);
      }
      backends[i]->transmit(network.now(), burst);
    }
    while (network.next_arrival() <= until) {
      network.advance_to(network.next_arrival());
      receive();
    }
    network.advance_to(until);
    receive();
  }
  const double spent = processor_nanoseconds() - begin;
  std::printf("grid of %u hosts, all to all %20.1f ns a packet\n", unsigned{hosts},
              spent / static_cast<double>(network.datagrams_carried()));
}

}  // namespace

int main() {
  const netmodel::LinkConfig plain{.rate_bps = 10'000'000'000, .propagation = 25ms};
  netmodel::LinkConfig lossy = plain;
  lossy.loss = 0.01;
  netmodel::LinkConfig jittery = lossy;
  jittery.jitter = 5ms;
  jittery.jitter_reorders = true;
  report("plain", plain, false);
  report("plain, departure times", plain, true);
  report("1 % loss, departure times", lossy, true);
  report("1 % loss, 5 ms jitter that reorders", jittery, true);
  report_grid(32, 10'000);
  return 0;
}
