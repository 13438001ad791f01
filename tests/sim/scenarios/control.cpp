// SPDX-License-Identifier: Apache-2.0
// Controllers that find the rate themselves: exactness does not depend on them, and on a clean line
// with a buffer of one bandwidth-delay product they fill it.
#include "tests/sim/scenarios/tables.hpp"

namespace longhaul::simtest {
namespace {

using std::chrono::milliseconds;

constexpr Line kGigabit{.rate_bps = 1'000'000'000, .rtt = milliseconds(20), .mtu = 1500};
constexpr std::uint64_t kBandwidthDelay = 2'500'000;

}  // namespace

Table control_table() {
  return {
      {.name = "cubic_clean",
       .line = kGigabit,
       .there = {.queue_bytes = kBandwidthDelay},
       .controller = "cubic",
       .loads = {{.bytes = 128 * kMiB}},
       .expect = {.completion_max = 1.3, .packets_max = 1.1}},
      {.name = "cubic_shallow_buffer",
       .line = kGigabit,
       .there = {.queue_bytes = kBandwidthDelay / 10},
       .controller = "cubic",
       .loads = {{.bytes = 128 * kMiB}},
       .expect = {.completion_max = 2, .packets_max = 1.1}},
      {.name = "cubic_loss",
       .line = kGigabit,
       .there = {.queue_bytes = kBandwidthDelay, .loss = 0.001},
       .back = {.loss = 0.001},
       .controller = "cubic",
       .loads = {{.bytes = 16 * kMiB}},
       // RFC 9438 §5.2: 1.2 / sqrt(p) = 38 packets a round trip, some 40 T*; slow start gives half
       // of that back.
       .expect = {.completion_max = 30, .packets_max = 1.1}},
      {.name = "cubic_outage",
       .line = kGigabit,
       .there = {.queue_bytes = kBandwidthDelay,
                 .down = {{Timestamp{} + milliseconds(300), Timestamp{} + milliseconds(1300)}}},
       .back = {.down = {{Timestamp{} + milliseconds(300), Timestamp{} + milliseconds(1300)}}},
       .controller = "cubic",
       .peer_timeout = std::chrono::seconds(5),
       .loads = {{.bytes = 64 * kMiB}},
       .expect = {.completion_max = 3, .completion_extra = milliseconds(1500)}},
      {.name = "cubic_jitter",
       .line = kGigabit,
       .there = {.jitter = milliseconds(5),
                 .jitter_reorders = true,
                 .queue_bytes = kBandwidthDelay},
       .back = {.jitter = milliseconds(5), .jitter_reorders = true},
       .controller = "cubic",
       .loads = {{.bytes = 64 * kMiB}},
       // Jitter hides the growing queue from HyStart++: slow start ends with a loss of up to a
       // whole window, two bandwidth-delay products here and a sixth of the load.
       .expect = {.completion_max = 2, .packets_max = 1.18}},
      {.name = "fixed_shallow_buffer",
       .line = kGigabit,
       .there = {.queue_bytes = 64'000},
       .loads = {{.bytes = 64 * kMiB}},
       .expect = {.completion_max = 1.02, .packets_max = 1.03, .retransmitted_max = 0}},
  };
}

}  // namespace longhaul::simtest
