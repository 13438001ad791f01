// SPDX-License-Identifier: Apache-2.0
// One seed, one trace, on every compiler: the answers to a scripted sequence of events are hashed
// and compared with a committed number. A deliberate change of a policy changes its number; the
// failure prints the new one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "congestion/registry.hpp"
#include "lib/base/random.hpp"
#include "tests/conformance/controllers/line_model.hpp"

namespace longhaul::congestion {
namespace {

struct Expectation {
  std::string_view name;
  std::uint64_t hash;
};
constexpr std::array kTraces{
    Expectation{"cubic", 11044141932658137338u},
    Expectation{"fixed", 3733550764734131867u},
};

class TraceHash {
 public:
  void add(std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      hash_ = (hash_ ^ ((value >> (8 * byte)) & 0xff)) * 0x100000001b3ULL;
    }
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;  // FNV-1a
};

// Lines that change under the controller, and signals the line model does not make.
std::uint64_t trace(std::string_view name, std::uint64_t seed) {
  base::Random random(seed);
  TraceHash hash;
  for (int run = 0; run < 12; ++run) {
    // One call a statement: operands are evaluated in any order.
    const BitsPerSecond fastest = 1'000'000 + random.below(400'000'000'000);
    const BitsPerSecond rate = std::max<BitsPerSecond>(fastest >> random.below(16), 1'000'000);
    const Duration rtt(static_cast<std::int64_t>(50'000 + random.below(200'000'000)));
    const std::uint64_t datagram = random.chance(0.5) ? 1200 : 8952;
    const auto controller =
        find_controller(name)({.max_datagram = datagram, .configured_rate = rate});
    LineModel model(*controller, {.rate = rate,
                                  .rtt = rtt,
                                  .max_datagram = datagram,
                                  .loss_interval_bytes = 100'000 + random.below(1'000'000'000)});
    for (int phase = 0; phase < 20; ++phase) {
      model.run(static_cast<int>(random.below(400)) * model.slice(), [&] {
        hash.add(controller->congestion_window());
        hash.add(controller->pacing_rate());
      });
      const Timestamp sent_at = model.now() - rtt;
      if (random.chance(0.2)) {
        controller->on_loss({.now = model.now(),
                             .newest_lost_sent_at = sent_at,
                             .lost_bytes = datagram,
                             .lost_packets = 1,
                             .bytes_in_flight = model.bytes_in_flight(),
                             .persistent_congestion = random.chance(0.2)});
      }
      if (random.chance(0.2)) controller->on_spurious_loss(model.now(), sent_at);
      if (random.chance(0.1)) {
        controller->on_ack({.now = model.now(),
                            .newest_acked_sent_at = sent_at,
                            .acked_bytes = datagram,
                            .acked_packets = 1,
                            .bytes_in_flight = model.bytes_in_flight(),
                            .smoothed_rtt = model.smoothed_rtt(),
                            .ce_packets = 1});
      }
      hash.add(controller->congestion_window());
    }
  }
  return hash.value();
}

class ControllerTraces : public testing::TestWithParam<std::string_view> {};

TEST_P(ControllerTraces, AreTheCommittedOnes) {
  const std::uint64_t hash = trace(GetParam(), 20240607);
  for (const Expectation& expectation : kTraces) {
    if (expectation.name != GetParam()) continue;
    EXPECT_EQ(hash, expectation.hash) << "if the policy was meant to change, commit " << hash;
    return;
  }
  FAIL() << "no committed trace; add Expectation{\"" << GetParam() << "\", " << hash << "u}";
}

TEST_P(ControllerTraces, DependOnTheirSeed) {
  EXPECT_EQ(trace(GetParam(), 1), trace(GetParam(), 1));
  EXPECT_NE(trace(GetParam(), 1), trace(GetParam(), 2));
}

INSTANTIATE_TEST_SUITE_P(Registry, ControllerTraces, testing::ValuesIn(controller_names()),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace longhaul::congestion
