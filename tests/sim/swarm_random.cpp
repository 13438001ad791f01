// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>

#include "lib/base/random.hpp"
#include "tests/sim/swarm_scenario.hpp"

namespace longhaul::simtest {
namespace {

using base::Random;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kOne = 1;
constexpr std::uint64_t kBytesMax = 12 * kMiB;  // of all loads: keeps a seed below a second

template <typename T, std::size_t N>
T one_of(Random& random, const std::array<T, N>& choices) {
  return choices[random.below(N)];
}

// Up to high, every power of two as likely as another.
std::uint64_t spread(Random& random, std::uint64_t low, std::uint64_t high) {
  const auto powers = static_cast<std::uint64_t>(std::bit_width(high / std::max(low, kOne)));
  const std::uint64_t base = std::max(low, kOne) << random.below(powers);
  return std::min(high, base + random.below(base));
}

Line random_line(Random& random) {
  Line line;
  line.rate_bps = one_of<std::uint64_t, 3>(random, {100'000'000, 1'000'000'000, 10'000'000'000});
  line.rtt = microseconds(spread(random, 200, 100'000));
  line.mtu = one_of<std::uint32_t, 5>(random, {1280, 1400, 1500, 4000, 9000});
  return line;
}

netmodel::LinkConfig random_faults(Random& random) {
  netmodel::LinkConfig faults;
  if (random.chance(0.4)) faults.loss = static_cast<double>(random.below(100)) / 1000;
  if (random.chance(0.2)) {
    // Probes of a silent line are up to 250 ms apart: a longer burst could outlast `peer_timeout`.
    faults.burst = {.good_to_bad = 0.001,
                    .bad_to_good = 1.0 / static_cast<double>(1 + random.below(12))};
  }
  if (random.chance(0.3)) {
    faults.jitter = microseconds(random.below(5000));
    faults.jitter_reorders = random.chance(0.5);
  }
  if (random.chance(0.3)) {
    faults.reorder_probability = static_cast<double>(random.below(50)) / 1000;
    faults.reorder_delay = microseconds(random.below(10'000));
  }
  if (random.chance(0.3)) faults.duplicate = static_cast<double>(random.below(50)) / 1000;
  if (random.chance(0.3)) faults.corrupt = static_cast<double>(random.below(30)) / 1000;
  if (random.chance(0.2)) faults.queue_bytes = 100'000 + random.below(2'000'000);
  if (random.chance(0.2)) {
    const Duration from = milliseconds(random.below(300));
    const Duration length = milliseconds(1 + random.below(1000));
    faults.down.push_back({Timestamp{} + from, Timestamp{} + from + length});
  }
  return faults;
}

Load random_load(Random& random, Tag tag, std::uint64_t& bytes_left) {
  Load load;
  load.tag = tag;
  load.way = random.chance(0.3) ? Way::back : Way::there;
  load.dtype = static_cast<Dtype>(1 + random.below(15));
  const std::uint64_t element = element_size(load.dtype);
  load.bytes = random.chance(0.05) ? 0 : spread(random, 1, 8 * kMiB);
  load.bytes = std::min(load.bytes, bytes_left) / element * element;
  load.count = 1 + static_cast<std::uint32_t>(random.chance(0.3) ? random.below(30) : 0);
  if (load.bytes * load.count > bytes_left) load.count = 1;
  bytes_left -= load.bytes * load.count;
  load.parts = random.chance(0.2) ? 1 + static_cast<std::uint32_t>(random.below(40)) : 1;
  load.send.traffic_class = static_cast<TrafficClass>(1 + random.below(3));
  load.send_at = milliseconds(random.chance(0.3) ? random.below(200) : 0);
  if (random.chance(0.3)) load.receive_at = milliseconds(random.below(400));
  load.receive.piece_events = random.chance(0.2);
  if (random.chance(0.2)) {
    load.send.growing = true;
    load.grow_over = milliseconds(random.below(300));
  }
  return load;
}

void add_changes(Random& random, Scenario& scenario) {
  using What = Change::What;
  const auto at = [&] { return Duration(milliseconds(1 + random.below(400))); };
  if (random.chance(0.2)) {
    Line line = scenario.line;
    line.mtu = one_of<std::uint32_t, 3>(random, {1280, 1500, 9000});
    scenario.changes.push_back({.at = at(), .line = line, .there = scenario.there});
  }
  if (random.chance(0.15)) scenario.changes.push_back({.at = at(), .what = What::rebind_client});
  if (random.chance(0.15)) {
    const Duration from = at();
    scenario.changes.push_back({.at = from, .what = What::suspend_server});
    scenario.changes.push_back(
        {.at = from + milliseconds(random.below(1000)), .what = What::resume_server});
  }
  if (random.chance(0.1)) scenario.changes.push_back({.at = at(), .what = What::inject_garbage});
}

}  // namespace

Scenario random_scenario(std::uint64_t seed) {
  Random random(seed);
  Scenario scenario{.name = "swarm"};
  scenario.seed = seed;
  scenario.line = random_line(random);
  scenario.there = random_faults(random);
  scenario.back = random_faults(random);
  // A burst is counted in packets: it may outlast all attempts of a handshake.
  const bool bursts = scenario.there.burst.good_to_bad + scenario.back.burst.good_to_bad > 0;
  scenario.connect_under_faults = !bursts && random.chance(0.5);
  if (random.chance(0.3)) {
    scenario.controller = "cubic";
  } else if (random.chance(0.15)) {
    // Under such loss cubic would take minutes.
    scenario.there.loss = scenario.back.loss = static_cast<double>(random.below(400)) / 1000;
  }
  scenario.peer_timeout = seconds(10);
  scenario.settle = milliseconds(random.below(1500));
  scenario.limit = seconds(300);
  scenario.faults_strike = false;
  std::uint64_t bytes_left = kBytesMax;
  const std::uint64_t loads = 1 + random.below(4);
  for (Tag tag = 1; tag <= loads; ++tag) {
    scenario.loads.push_back(random_load(random, tag, bytes_left));
  }
  add_changes(random, scenario);
  return scenario;
}

}  // namespace longhaul::simtest
