// SPDX-License-Identifier: Apache-2.0
// Prints what one simulated packet costs on this machine: two hosts, 10 Gbit/s, 25 ms one way,
// reference payloads, bursts as a worker sends them.
#include <chrono>
#include <cstdio>
#include <string_view>
#include <vector>

#include "tests/unit/io/sim/world.hpp"

namespace {

using namespace longhaul;
using namespace std::chrono_literals;

double nanoseconds_per_packet(const netmodel::LinkConfig& link, bool paced, int packets) {
  sim::World world(link, {}, base::PayloadMode::reference);
  constexpr std::size_t kBurst = 32;
  std::vector<std::byte> head(22);
  const std::vector<std::byte> payload(8950);
  std::vector<base::TxDatagram> burst(kBurst);
  for (auto& datagram : burst) {
    datagram = {.head = head, .head_size = head.size(), .payload = payload};
    datagram.remote = sim::address_of(2, 2000);
  }
  std::vector<base::RxDatagram> in(64);
  std::size_t received = 0;
  const auto begin = std::chrono::steady_clock::now();
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
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  std::printf("  %zu of %d received\n", received, packets);
  return spent.count() / packets;
}

void report(std::string_view name, const netmodel::LinkConfig& link, bool paced) {
  const double cost = nanoseconds_per_packet(link, paced, 2'000'000);
  std::printf("%-40.*s %6.1f ns a packet\n", static_cast<int>(name.size()), name.data(), cost);
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
  return 0;
}
