// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "tests/sim/man_in_the_middle_play.hpp"

namespace longhaul::simtest {
namespace {

using base::Random;
using std::chrono::milliseconds;

constexpr std::uint64_t kBytesMax = 8 << 20;  // of all orders: keeps a seed well below a second

template <typename T, std::size_t N>
T one_of(Random& random, const std::array<T, N>& choices) {
  return choices[random.below(N)];
}

// Every power of two as likely as another.
std::uint64_t spread(Random& random, std::uint64_t high) {
  const std::uint64_t base = std::uint64_t{1}
                             << random.below(static_cast<std::uint64_t>(std::bit_width(high)));
  return std::min(high, base + random.below(base));
}

Order random_order(Random& random, TrafficClass c, std::uint64_t& bytes_left) {
  Order order;
  order.from_client = random.chance(0.5);
  order.bytes = std::min(spread(random, 6 << 20), bytes_left);
  bytes_left -= order.bytes;
  order.send_at = milliseconds(random.chance(0.5) ? random.below(100) : 0);
  order.receive_at = milliseconds(random.chance(0.5) ? random.below(100) : 0);
  order.send.traffic_class = c;
  order.receive.piece_events = random.chance(0.3);
  if (random.chance(0.2)) order.receive.deadline = milliseconds(20 + random.below(3000));
  if (random.chance(0.2)) {
    order.send.deadline = milliseconds(20 + random.below(3000));
    if (random.chance(0.3)) order.send.reliability = Reliability::best_effort;
  }
  return order;
}

Habits random_habits(Random& random, bool speaks_only) {
  Habits habits;
  habits.rate = one_of<double, 8>(random, {0.002, 0.01, 0.02, 0.05, 0.05, 0.1, 0.3, 1.0});
  for (std::uint32_t& weight : habits.weights)
    weight = random.chance(0.3) ? 0 : static_cast<std::uint32_t>(1 + random.below(8));
  if (speaks_only) {
    for (const Trick trick : {Trick::drop, Trick::edit, Trick::delay})
      habits.weights[static_cast<std::size_t>(trick)] = 0;
    ++habits.weights[static_cast<std::size_t>(Trick::inject)];
  }
  habits.delay_max = milliseconds(1 + random.below(random.chance(0.3) ? 2000 : 60));
  habits.burst = one_of<std::uint32_t, 3>(random, {1, 1, 10});
  habits.strangers = one_of<double, 3>(random, {0, 0.1, 0.5});
  return habits;
}

}  // namespace

MitmScenario random_mitm(std::uint64_t seed) {
  Random random(seed);
  MitmScenario scenario;
  scenario.seed = seed;
  scenario.line.rate_bps =
      one_of<std::uint64_t, 3>(random, {50'000'000, 200'000'000, 1'000'000'000});
  scenario.line.rtt = std::chrono::microseconds(2000 + random.below(98'000));
  scenario.line.mtu = one_of<std::uint32_t, 4>(random, {1280, 1500, 1500, 9000});
  scenario.certificates = random.chance(0.2);
  scenario.validate_addresses = random.chance(0.8);
  scenario.speaks_only = random.chance(0.35);
  scenario.habits = random_habits(random, scenario.speaks_only);
  scenario.from_the_start = random.chance(0.7);
  // One for all: what is sent again in a lower class waits for all of a higher one.
  const auto c = static_cast<TrafficClass>(1 + random.below(3));
  std::uint64_t bytes_left = kBytesMax;
  for (std::uint64_t orders = 1 + random.below(5); orders > 0 && bytes_left > 0; --orders)
    scenario.orders.push_back(random_order(random, c, bytes_left));
  return scenario;
}

}  // namespace longhaul::simtest
