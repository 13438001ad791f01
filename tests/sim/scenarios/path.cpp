// SPDX-License-Identifier: Apache-2.0
// The path changes under the transfer: it goes away and returns, carries less or more, moves.
#include "tests/sim/scenarios/tables.hpp"

namespace longhaul::simtest {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using What = Change::What;

constexpr Line kLong{.rate_bps = 10'000'000'000, .rtt = milliseconds(50), .mtu = 9000};
constexpr Line kGigabit{.rate_bps = 1'000'000'000, .rtt = milliseconds(20), .mtu = 9000};

Line with_mtu(Line line, std::uint32_t mtu) {
  line.mtu = mtu;
  return line;
}

netmodel::LinkConfig down(Duration from, Duration to) {
  return {.down = {{.from = Timestamp{} + from, .to = Timestamp{} + to}}};
}

}  // namespace

Table path_table() {
  return {
      {.name = "outage_5_s",
       .line = kLong,
       .there = down(milliseconds(500), milliseconds(5500)),
       .back = down(milliseconds(500), milliseconds(5500)),
       .peer_timeout = seconds(10),
       .modes = Modes::reference_twice,
       .loads = {{.bytes = 2048 * kMiB}},
       .expect = {.completion_max = 1.1,
                  .completion_extra = milliseconds(5700),
                  .packets_max = 1.1,
                  .resume = Resume{.down_at = milliseconds(500),
                                   .up_at = milliseconds(5500),
                                   .first_byte_within = milliseconds(350),
                                   .rate_within = milliseconds(500)},
                  .black_holes = 0}},
      {.name = "outage_5_s_bytes",
       .line = kGigabit,
       .there = down(milliseconds(200), milliseconds(5200)),
       .back = down(milliseconds(200), milliseconds(5200)),
       .peer_timeout = seconds(10),
       .loads = {{.bytes = 128 * kMiB}},
       .expect = {.completion_max = 1.1,
                  .completion_extra = milliseconds(5500),
                  .packets_max = 1.1,
                  .resume = Resume{.down_at = milliseconds(200),
                                   .up_at = milliseconds(5200),
                                   .first_byte_within = milliseconds(320),
                                   .rate_within = milliseconds(200)},
                  .black_holes = 0}},
      {.name = "outage_of_the_acks_only",
       .line = kGigabit,
       .back = down(milliseconds(200), milliseconds(1200)),
       .peer_timeout = seconds(5),
       .loads = {{.bytes = 64 * kMiB}},
       .expect = {.completion_max = 1.3, .completion_extra = milliseconds(1300), .black_holes = 0}},
      {.name = "flapping_line",
       .line = kGigabit,
       .there = {.down = {{Timestamp{} + milliseconds(100), Timestamp{} + milliseconds(400)},
                          {Timestamp{} + milliseconds(600), Timestamp{} + milliseconds(900)},
                          {Timestamp{} + milliseconds(1100), Timestamp{} + milliseconds(1400)}}},
       .peer_timeout = seconds(5),
       .loads = {{.bytes = 128 * kMiB}},
       .expect = {.completion_max = 1.3, .completion_extra = milliseconds(1700), .black_holes = 0}},
      {.name = "mtu_9000_to_1400",
       .line = kGigabit,
       .loads = {{.bytes = 128 * kMiB}},
       .changes = {{.at = milliseconds(300), .line = with_mtu(kGigabit, 1400)}},
       .expect = {.completion_max = 1.35,
                  .completion_extra = milliseconds(300),
                  .max_datagram = 1372,
                  .black_holes = 1}},
      {.name = "mtu_9000_to_1400_under_1_percent_loss",
       .line = kGigabit,
       .there = {.loss = 0.01},
       .back = {.loss = 0.01},
       .loads = {{.bytes = 128 * kMiB}},
       .changes = {{.at = milliseconds(300),
                    .line = with_mtu(kGigabit, 1400),
                    .there = {.loss = 0.01},
                    .back = {.loss = 0.01}}},
       .expect = {.completion_max = 1.5,
                  .completion_extra = milliseconds(300),
                  .max_datagram = 1372,
                  .black_holes = 1}},
      // 1200 bytes of UDP payload are the smallest path the handshake fits.
      {.name = "mtu_1200_to_9000",
       .line = with_mtu(kGigabit, 1228),
       .interface_mtu = 9000,
       .mtu_base = 1228,
       .modes = Modes::reference_twice,
       .settle = seconds(2),
       .loads = {{.bytes = 1024 * kMiB}},
       .changes = {{.at = milliseconds(1000), .line = kGigabit}},
       .expect = {.completion_max = 1.02, .max_datagram = 8972, .black_holes = 0}},
      {.name = "mtu_never_above_1400",
       .line = with_mtu(kGigabit, 1400),
       .interface_mtu = 9000,
       .settle = seconds(4),
       .loads = {{.bytes = 16 * kMiB}},
       .expect = {.completion_max = 1.05, .max_datagram = 1372, .black_holes = 0}},
      {.name = "interface_mtu_1500",
       .line = with_mtu(kGigabit, 1500),
       .interface_mtu = 1500,
       .loads = {{.bytes = 16 * kMiB}},
       .expect = {.completion_max = 1.02, .max_datagram = 1472, .black_holes = 0}},
      {.name = "rebinding_of_port_and_address",
       .line = kGigabit,
       .loads = {{.bytes = 128 * kMiB}},
       .changes = {{.at = milliseconds(300), .what = What::rebind_client}},
       .expect = {.completion_max = 1.1,
                  .completion_extra = milliseconds(500),
                  .migrations_min = 1}},
      {.name = "rebinding_of_the_port",
       .line = kGigabit,
       .loads = {{.bytes = 128 * kMiB}},
       .changes = {{.at = milliseconds(300), .what = What::rebind_port}},
       .expect = {.completion_max = 1.1,
                  .completion_extra = milliseconds(500),
                  .migrations_min = 1}},
      {.name = "rebinding_of_the_receiver",
       .line = kGigabit,
       .loads = {{.way = Way::back, .bytes = 128 * kMiB}},
       .changes = {{.at = milliseconds(300), .what = What::rebind_client}},
       .expect = {.completion_max = 1.3,
                  .completion_extra = milliseconds(500),
                  .migrations_min = 1}},
      {.name = "receiver_suspended",
       .line = kGigabit,
       .peer_timeout = seconds(5),
       .loads = {{.bytes = 64 * kMiB}},
       .changes = {{.at = milliseconds(200), .what = What::suspend_server},
                   {.at = milliseconds(2200), .what = What::resume_server}},
       .expect = {.completion_max = 1.3, .completion_extra = milliseconds(2500), .black_holes = 0}},
      {.name = "slower_line",
       .line = kGigabit,
       .loads = {{.bytes = 64 * kMiB}},
       .changes = {{.at = milliseconds(200),
                    .line = {.rate_bps = 1'000'000'000, .rtt = milliseconds(80), .mtu = 9000}}},
       .expect = {.completion_max = 1.3,
                  .completion_extra = milliseconds(100),
                  .retransmitted_max = 0.1}},
  };
}

}  // namespace longhaul::simtest
