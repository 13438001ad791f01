// SPDX-License-Identifier: Apache-2.0
// What is moved: sizes from nothing to beyond 4 GiB, every dtype, lists, both ways, many at once.
#include "tests/sim/scenarios/tables.hpp"

namespace longhaul::simtest {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Line kGigabit{.rate_bps = 1'000'000'000, .rtt = milliseconds(10), .mtu = 1500};
constexpr Line kLong{.rate_bps = 10'000'000'000, .rtt = milliseconds(50), .mtu = 9000};
constexpr std::uint64_t kGiB = 1024 * kMiB;

// One transfer of every element type, of a size no packet size divides.
std::vector<Load> every_dtype() {
  std::vector<Load> loads;
  for (int dtype = 1; dtype <= 15; ++dtype) {
    const auto type = static_cast<Dtype>(dtype);
    loads.push_back(
        {.tag = static_cast<Tag>(dtype), .bytes = 77'777 * element_size(type), .dtype = type});
  }
  return loads;
}

// Sizes around what fits one packet, one piece, one group of digests.
std::vector<Load> awkward_sizes() {
  std::vector<Load> loads;
  Tag tag = 1;
  for (const std::uint64_t bytes :
       {1u, 2u, 7u, 8u, 1229u, 1230u, 1231u, 1449u, 1450u, 1451u, 65'535u, 65'536u, 65'537u,
        262'143u, 262'145u, 1'048'576u, 1'048'577u, 4'194'305u}) {
    loads.push_back({.tag = tag++, .bytes = bytes});
  }
  return loads;
}

}  // namespace

Table workload_table() {
  return {
      {.name = "zero_bytes",
       .line = kGigabit,
       .loads = {{.bytes = 0}},
       .expect = {.completion_max = 1, .completion_extra = milliseconds(1)}},
      {.name = "zero_bytes_under_loss",
       .line = kGigabit,
       .there = {.loss = 0.3},
       .back = {.loss = 0.3},
       .loads = {{.bytes = 0, .count = 50}},
       .expect = {}},
      {.name = "one_byte",
       .line = kGigabit,
       .loads = {{.bytes = 1}},
       .expect = {.completion_max = 1, .completion_extra = milliseconds(1)}},
      {.name = "awkward_sizes",
       .line = kGigabit,
       .loads = awkward_sizes(),
       .expect = {.completion_max = 1.1, .completion_extra = milliseconds(2)}},
      {.name = "awkward_sizes_under_loss",
       .line = kGigabit,
       .there = {.loss = 0.05},
       .back = {.loss = 0.05},
       .loads = awkward_sizes(),
       .expect = {.completion_max = 4}},
      {.name = "every_dtype",
       .line = kGigabit,
       .there = {.loss = 0.01},
       .loads = every_dtype(),
       .expect = {.completion_max = 2}},
      {.name = "five_gib",
       .line = {.rate_bps = 100'000'000'000, .rtt = milliseconds(50)},
       .there = {.loss = 0.0001},
       .back = {.loss = 0.0001},
       .modes = Modes::reference_twice,
       .loads = {{.bytes = 5 * kGiB}},
       .expect = {.completion_max = 1.4, .packets_max = 1.02, .retransmitted_max = 0.001}},
      {.name = "list_of_300_tensors",
       .line = kGigabit,
       .there = {.loss = 0.01},
       .back = {.loss = 0.01},
       .loads = {{.bytes = 5'000'000, .dtype = Dtype::bf16, .parts = 300}},
       .expect = {.completion_max = 2.2, .packets_max = 1.3}},
      {.name = "both_ways_at_once",
       .line = kGigabit,
       .there = {.loss = 0.01},
       .back = {.loss = 0.01},
       .loads = {{.bytes = 32 * kMiB}, {.way = Way::back, .bytes = 32 * kMiB}},
       .expect = {.completion_max = 1.5, .packets_max = 1.2}},
      {.name = "a_hundred_at_once",
       .line = kGigabit,
       .there = {.loss = 0.005},
       .back = {.loss = 0.005},
       .loads = {{.tag = 1, .bytes = 200'000, .count = 50},
                 {.tag = 2, .bytes = 300'000, .count = 50}},
       .expect = {.completion_max = 1.4, .packets_max = 1.1}},
      {.name = "a_thousand_small_ones",
       .line = kGigabit,
       .there = {.loss = 0.005},
       .back = {.loss = 0.005},
       .loads = {{.bytes = 4000, .count = 1000}},
       .expect = {.completion_max = 2}},
      {.name = "receive_posted_late",
       .line = kGigabit,
       .loads = {{.bytes = 8 * kMiB, .receive_at = milliseconds(300)}},
       .expect = {.completion_max = 1.1, .completion_extra = milliseconds(311)}},
      {.name = "receive_posted_late_for_an_eager_send",
       .line = kGigabit,
       .loads = {{.bytes = 30'000, .count = 20, .receive_at = milliseconds(300)}},
       .expect = {.completion_max = 1, .completion_extra = milliseconds(300)}},
      {.name = "growing_source",
       .line = kGigabit,
       .loads = {{.bytes = 16 * kMiB,
                  .send = {.growing = true},
                  .receive = {.piece_events = true},
                  .grow_over = milliseconds(400)}},
       .expect = {.completion_max = 1.1, .completion_extra = milliseconds(270)}},
      {.name = "growing_source_under_loss",
       .line = kGigabit,
       .there = {.loss = 0.02},
       .back = {.loss = 0.02},
       .loads = {{.bytes = 16 * kMiB, .send = {.growing = true}, .grow_over = milliseconds(400)}},
       .expect = {.completion_max = 1.5, .completion_extra = milliseconds(300)}},
      {.name = "critical_before_bulk",
       .line = kGigabit,
       .loads = {{.tag = 1, .bytes = 32 * kMiB},
                 {.tag = 2,
                  .bytes = 100'000,
                  .count = 10,
                  .send = {.traffic_class = TrafficClass::critical},
                  .send_at = milliseconds(50)}},
       .expect = {.completion_max = 1.05}},
      {.name = "ten_gigabit_long_train",
       .line = kLong,
       .there = {.loss = 0.0001},
       .back = {.loss = 0.0001},
       .modes = Modes::reference_twice,
       .loads = {{.bytes = 16 * kMiB, .count = 64}},
       .expect = {.completion_max = 1.2, .packets_max = 1.02}},
  };
}

}  // namespace longhaul::simtest
