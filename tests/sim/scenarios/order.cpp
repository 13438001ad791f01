// SPDX-License-Identifier: Apache-2.0
// Reordering, jitter, duplicates, corruption: nothing of it is loss, and little of it may cost.
#include "tests/sim/scenarios/tables.hpp"

namespace longhaul::simtest {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Line kGigabit{.rate_bps = 1'000'000'000, .rtt = milliseconds(50), .mtu = 1500};
constexpr Line kLong{.rate_bps = 10'000'000'000, .rtt = milliseconds(50), .mtu = 9000};

}  // namespace

Table order_table() {
  return {
      // 200 packets of 1538 bytes at 1 Gbit/s are 2.46 ms.
      {.name = "reordering_by_200_packets",
       .line = kGigabit,
       .there = {.reorder_probability = 0.02, .reorder_delay = microseconds(2461)},
       .back = {.reorder_probability = 0.02, .reorder_delay = microseconds(2461)},
       .loads = {{.bytes = 128 * kMiB}},
       .expect = {.completion_max = 1.03, .packets_max = 1.02, .retransmitted_max = 0.001}},
      {.name = "reordering_by_200_jumbo_packets",
       .line = kLong,
       .there = {.reorder_probability = 0.02, .reorder_delay = microseconds(1446)},
       .loads = {{.bytes = 512 * kMiB}},
       .expect = {.completion_max = 1.03, .packets_max = 1.02, .retransmitted_max = 0.001}},
      {.name = "jitter_5_ms_reordering",
       .line = kGigabit,
       .there = {.jitter = milliseconds(5), .jitter_reorders = true},
       .back = {.jitter = milliseconds(5), .jitter_reorders = true},
       .loads = {{.bytes = 128 * kMiB}},
       .expect = {.completion_max = 1.05, .packets_max = 1.03, .retransmitted_max = 0.005}},
      {.name = "jitter_5_ms_in_order",
       .line = kGigabit,
       .there = {.jitter = milliseconds(5)},
       .back = {.jitter = milliseconds(5)},
       .loads = {{.bytes = 64 * kMiB}},
       .expect = {.completion_max = 1.05, .packets_max = 1.02, .retransmitted_max = 0}},
      {.name = "jitter_and_loss",
       .line = kGigabit,
       .there = {.jitter = milliseconds(5), .jitter_reorders = true, .loss = 0.01},
       .back = {.jitter = milliseconds(5), .jitter_reorders = true, .loss = 0.01},
       .loads = {{.bytes = 64 * kMiB}},
       .expect = {.completion_max = 1.6, .packets_max = 1.08, .black_holes = 0}},
      {.name = "duplicates",
       .line = kLong,
       .there = {.duplicate = 0.05},
       .back = {.duplicate = 0.05},
       .loads = {{.bytes = 64 * kMiB}},
       .expect = {.completion_max = 1.02,
                  .packets_max = 1.02,
                  .retransmitted_max = 0,
                  .dropped = DropReason::duplicate_packet}},
      {.name = "corruption_2_percent",
       .line = kLong,
       .there = {.corrupt = 0.02},
       .back = {.corrupt = 0.02},
       .loads = {{.bytes = 64 * kMiB}},
       .expect = {.completion_max = 2.8,
                  .packets_max = 1.06,
                  .black_holes = 0,
                  .dropped = DropReason::failed_integrity}},
      {.name = "corruption_30_percent",
       .line = {.rate_bps = 1'000'000'000, .rtt = milliseconds(10), .mtu = 1500},
       .there = {.corrupt = 0.3},
       .back = {.corrupt = 0.3},
       .loads = {{.bytes = 8 * kMiB}},
       .expect = {.completion_max = 6, .packets_max = 2, .dropped = DropReason::failed_integrity}},
      {.name = "everything_together",
       .line = kGigabit,
       .there = {.jitter = milliseconds(1),
                 .jitter_reorders = true,
                 .loss = 0.01,
                 .duplicate = 0.01,
                 .corrupt = 0.01},
       .back = {.jitter = milliseconds(1),
                .jitter_reorders = true,
                .loss = 0.01,
                .duplicate = 0.01,
                .corrupt = 0.01},
       .connect_under_faults = true,
       .loads = {{.bytes = 32 * kMiB}},
       .expect = {.completion_max = 1.9, .packets_max = 1.10, .black_holes = 0}},
  };
}

}  // namespace longhaul::simtest
