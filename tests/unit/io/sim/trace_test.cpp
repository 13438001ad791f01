// SPDX-License-Identifier: Apache-2.0
// One seed, one trace: over runs, payload modes, compilers, and how the caller steps through time.
#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "tests/unit/io/sim/world.hpp"

namespace longhaul::sim {
namespace {

using namespace std::chrono_literals;
using base::PayloadMode;

const netmodel::LinkConfig kRough{.rate_bps = 1'234'567'891,
                                  .propagation = 12ms,
                                  .jitter = 2ms,
                                  .jitter_reorders = true,
                                  .reorder_probability = 0.01,
                                  .reorder_delay = 3ms,
                                  .queue_bytes = 300'000,
                                  .mtu = 1500,
                                  .loss = 0.01,
                                  .burst = {.good_to_bad = 0.001, .bad_to_good = 0.1},
                                  .duplicate = 0.01,
                                  .corrupt = 0.01,
                                  .down = {{Timestamp{} + 20ms, Timestamp{} + 22ms}}};

/// Random traffic both ways: heads, payloads, paced departures, wrong ports, a rebinding.
std::uint64_t run(PayloadMode mode, std::uint64_t seed, Duration stride,
                  const HostConfig& host = {}) {
  World world(kRough, host, mode, seed);
  base::Random random(seed + 1);
  const std::vector<std::byte> payload(1600, std::byte{0x5a});
  for (Timestamp next{}; next < Timestamp{} + 60ms; next += 250us) {
    while (world.now() < next) {
      world.network.advance_to(std::min(next, world.now() + stride));
      receive_all(*world.a, world.now());
      receive_all(*world.b, world.now());
    }
    if (next == Timestamp{} + 30ms) {
      world.network.rebind(world.left, 1000, address_of(77, 7));
    }
    for (std::uint64_t i = random.below(40); i > 0; --i) {
      const bool forward = random.chance(0.7);
      io::Backend& from = forward ? *world.a : *world.b;
      SocketAddress to = forward ? address_of(2, 2000) : address_of(1, 1000);
      if (random.chance(0.02)) to.port = 9;
      if (random.chance(0.02)) to = address_of(99, 1);
      const Duration wait{static_cast<std::int64_t>(random.below(500'000))};
      const std::size_t head = 1 + random.below(80);
      send(from, to, std::vector<std::byte>(head, std::byte{1}), world.now(), world.now() + wait,
           std::span(payload).first(random.below(1500)));
    }
  }
  while (world.step() != kNever) {
    receive_all(*world.a, world.now());
    receive_all(*world.b, world.now());
  }
  EXPECT_GT(world.network.datagrams_carried(), 3000u);
  EXPECT_GT(world.network.stats().no_route, 0u);
  EXPECT_GT(world.network.stats().unbound, 0u);
  return world.network.trace_hash();
}

TEST(Trace, IsTheSameOnEveryCompilerAndMachine) {
  // Changes only when the link model, the simulator's order of things or the hash is changed on
  // purpose.
  EXPECT_EQ(run(PayloadMode::bytes, 1, 50us), 6188670586248570268u);
}

TEST(Trace, IsTheSameInBothPayloadModes) {
  for (std::uint64_t seed = 2; seed < 12; ++seed) {
    EXPECT_EQ(run(PayloadMode::bytes, seed, 50us), run(PayloadMode::reference, seed, 50us));
  }
}

TEST(Trace, DoesNotDependOnHowTimeIsStepped) {
  EXPECT_EQ(run(PayloadMode::bytes, 3, 7us), run(PayloadMode::bytes, 3, 250us));
}

TEST(Trace, DoesNotDependOnWhenTheHostLooks) {
  // Nobody here answers to what it receives, so only the moment of the look differs.
  EXPECT_EQ(run(PayloadMode::bytes, 3, 50us, {.poll_interval = Duration{0}}),
            run(PayloadMode::bytes, 3, 50us, {.poll_interval = 100us}));
}

TEST(Trace, DiffersBetweenSeeds) {
  EXPECT_NE(run(PayloadMode::bytes, 4, 50us), run(PayloadMode::bytes, 5, 50us));
}

}  // namespace
}  // namespace longhaul::sim
