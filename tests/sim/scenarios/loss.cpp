// SPDX-License-Identifier: Apache-2.0
// Loss. The bounds are of one seed, so they stand above the means of ideal selective repeat.
#include "tests/sim/scenarios/tables.hpp"

namespace longhaul::simtest {
namespace {

using std::chrono::milliseconds;

constexpr Line kLong{.rate_bps = 10'000'000'000, .rtt = milliseconds(50), .mtu = 9000};
constexpr Line kEthernet{.rate_bps = 1'000'000'000, .rtt = milliseconds(30), .mtu = 1500};
constexpr Line kFat{.rate_bps = 100'000'000'000, .rtt = milliseconds(50), .mtu = 9000};
constexpr Line kFatShort{.rate_bps = 100'000'000'000, .rtt = milliseconds(4), .mtu = 9000};

// Bursts of `length` packets on average, a share `loss` of all packets.
netmodel::LinkConfig bursts(double loss, double length) {
  return {.burst = {.good_to_bad = loss / length / (1 - loss), .bad_to_good = 1 / length}};
}

}  // namespace

Table loss_table() {
  return {
      {.name = "clean",
       .line = kLong,
       .loads = {{.bytes = 128 * kMiB}},
       .expect = {.completion_max = 1.01, .packets_max = 1.02, .retransmitted_max = 0}},
      {.name = "clean_ethernet",
       .line = kEthernet,
       .loads = {{.bytes = 16 * kMiB}},
       .expect = {.completion_max = 1.01, .packets_max = 1.02, .retransmitted_max = 0}},
      {.name = "loss_0_1_percent",
       .line = kLong,
       .there = {.loss = 0.001},
       .back = {.loss = 0.001},
       .loads = {{.bytes = 64 * kMiB}},
       .expect = {.completion_max = 2.2, .packets_max = 1.03, .retransmitted_max = 0.004}},
      {.name = "loss_1_percent",
       .line = kLong,
       .there = {.loss = 0.01},
       .back = {.loss = 0.01},
       .loads = {{.bytes = 64 * kMiB}},
       .expect = {.completion_max = 2.6,
                  .packets_max = 1.04,
                  .retransmitted_max = 0.015,
                  .black_holes = 0}},
      {.name = "loss_2_percent_ethernet",
       .line = kEthernet,
       .there = {.loss = 0.02},
       .back = {.loss = 0.02},
       .loads = {{.bytes = 16 * kMiB}},
       .expect = {.completion_max = 1.8, .packets_max = 1.06, .retransmitted_max = 0.03}},
      {.name = "loss_5_percent",
       .line = kLong,
       .there = {.loss = 0.05},
       .back = {.loss = 0.05},
       .loads = {{.bytes = 64 * kMiB}},
       .expect = {.completion_max = 3.2,
                  .packets_max = 1.10,
                  .retransmitted_max = 0.065,
                  .black_holes = 0}},
      {.name = "connect_under_5_percent_loss",
       .line = kEthernet,
       .there = {.loss = 0.05},
       .back = {.loss = 0.05},
       .connect_under_faults = true,
       .seed = 3,
       .settle = std::chrono::seconds(3),
       .loads = {{.bytes = 4 * kMiB}},
       .expect = {.completion_max = 4, .packets_max = 1.2}},
      {.name = "bursts_of_50",
       .line = kLong,
       .there = bursts(0.02, 50),
       .back = bursts(0.02, 50),
       .loads = {{.bytes = 128 * kMiB}},
       .expect = {.completion_max = 2.2,
                  .packets_max = 1.06,
                  .retransmitted_max = 0.06,
                  .black_holes = 0}},
      {.name = "bursts_of_50_ethernet",
       .line = kEthernet,
       .there = bursts(0.01, 50),
       .back = bursts(0.01, 50),
       .loads = {{.bytes = 32 * kMiB}},
       .expect = {.completion_max = 1.8, .packets_max = 1.10, .black_holes = 0}},
      {.name = "bursts_of_3_two_percent",
       .line = kEthernet,
       .there = bursts(0.02, 3),
       .back = bursts(0.02, 3),
       .loads = {{.bytes = 16 * kMiB}},
       .expect = {.completion_max = 1.8, .packets_max = 1.08}},
      {.name = "acks_lost_20_percent_100g",
       .line = kFat,
       .there = {.loss = 0.02},
       .back = {.loss = 0.2},
       .modes = Modes::reference_twice,
       .loads = {{.bytes = 1024 * kMiB}},
       .expect =
           {.completion_max = 3, .packets_max = 1.08, .retransmitted_max = 0.05, .black_holes = 0}},
      {.name = "acks_lost_50_percent_100g",
       .line = kFat,
       .there = {.loss = 0.02},
       .back = {.loss = 0.5},
       .modes = Modes::reference_twice,
       .loads = {{.bytes = 1024 * kMiB}},
       .expect =
           {.completion_max = 4, .packets_max = 1.10, .retransmitted_max = 0.08, .black_holes = 0}},
      {.name = "acks_lost_20_percent_bytes",
       .line = kFatShort,
       .there = {.loss = 0.02},
       .back = {.loss = 0.2},
       .loads = {{.bytes = 128 * kMiB}},
       .expect = {.completion_max = 2.5, .packets_max = 1.10, .black_holes = 0}},
      {.name = "acks_lost_50_percent_bytes",
       .line = kFatShort,
       .there = {.loss = 0.02},
       .back = {.loss = 0.5},
       .loads = {{.bytes = 128 * kMiB}},
       .expect = {.completion_max = 4, .packets_max = 1.15, .black_holes = 0}},
      {.name = "acks_lost_90_percent",
       .line = kEthernet,
       .back = {.loss = 0.9},
       .loads = {{.bytes = 8 * kMiB}},
       // The word that a receive is posted has to get through first: a copy a round trip, one in
       // ten arrives.
       .expect = {.completion_max = 20, .packets_max = 2}},
      {.name = "high_delay",
       .line = {.rate_bps = 1'000'000'000, .rtt = milliseconds(1500)},
       .there = {.loss = 0.001},
       .back = {.loss = 0.001},
       .peer_timeout = std::chrono::seconds(10),
       .settle = std::chrono::seconds(8),
       .loads = {{.bytes = 64 * kMiB}},
       .expect = {.completion_max = 4, .packets_max = 1.05, .retransmitted_max = 0.01}},
  };
}

}  // namespace longhaul::simtest
