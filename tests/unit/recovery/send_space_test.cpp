// SPDX-License-Identifier: Apache-2.0
#include "lib/recovery/send_space.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/seeded_source.hpp"

namespace longhaul::recovery {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration kPacketTime = microseconds(10);
constexpr Duration kWindow = 3 * kPacketTime;
constexpr Duration kRtt = milliseconds(10);

Timestamp at(Duration since) {
  return Timestamp{} + std::chrono::seconds(1) + since;
}

std::vector<std::uint64_t> numbers(std::span<const Settled> settled) {
  std::vector<std::uint64_t> result;
  for (const Settled& each : settled) result.push_back(each.number);
  return result;
}

using Numbers = std::vector<std::uint64_t>;

struct SendSpaceTest : testing::Test {
  SendSpace space;

  void send(Duration when, std::uint32_t size = 1000, bool in_flight = true) {
    SentPacket packet;
    packet.sent_at = at(when);
    packet.size = size;
    packet.outstanding = true;
    packet.in_flight = in_flight;
    space.on_sent(packet);
  }
  void send_many(int count) {
    for (int i = 0; i < count; ++i) send(i * kPacketTime);
  }
  AckOutcome ack(std::uint64_t floor, std::uint64_t largest, std::vector<wire::Gap> gaps = {},
                 Duration lateness = {}, Duration when = kRtt) {
    gaps_ = std::move(gaps);
    wire::Ack frame;
    frame.floor = floor;
    frame.largest = largest;
    frame.gaps = gaps_;
    frame.largest_is_newest = true;
    frame.lateness_us = static_cast<std::uint64_t>(lateness / microseconds(1));
    return space.on_ack(at(when), frame, kPacketTime, kRtt);
  }
  std::vector<wire::Gap> gaps_;
};

TEST_F(SendSpaceTest, what_an_interval_covers_and_does_not_list_is_acknowledged_once) {
  send_many(4);
  EXPECT_EQ(numbers(ack(0, 3).acked), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(space.in_flight_packets(), 0u);
  const auto again = ack(0, 3);
  EXPECT_TRUE(again.valid);
  EXPECT_TRUE(again.acked.empty());
}

TEST_F(SendSpaceTest, nothing_outside_an_interval_is_implied) {
  send_many(100);
  const auto outcome = ack(40, 59);
  EXPECT_EQ(outcome.acked.size(), 20u);
  EXPECT_TRUE(outcome.lost.empty());
  EXPECT_EQ(space.in_flight_packets(), 80u);
  EXPECT_EQ(ack(0, 39).acked.size(), 40u);
  EXPECT_EQ(ack(60, 99).acked.size(), 40u);
}

TEST_F(SendSpaceTest, a_gap_is_lost_only_after_a_packet_that_left_a_window_later_has_arrived) {
  send_many(10);
  EXPECT_TRUE(ack(0, 3, {{2, 1}}).lost.empty());
  EXPECT_TRUE(ack(0, 4, {{2, 1}}).lost.empty());
  EXPECT_EQ(numbers(ack(0, 5, {{2, 1}}).lost), Numbers{2});  // left three packet times later
  EXPECT_TRUE(ack(0, 6, {{2, 1}}).lost.empty());
}

TEST_F(SendSpaceTest, a_packet_overtaken_by_less_than_the_window_is_acknowledged_when_it_arrives) {
  send_many(10);
  EXPECT_TRUE(ack(0, 3, {{2, 1}}).lost.empty());
  const auto outcome = ack(0, 4);
  EXPECT_EQ(numbers(outcome.acked), (Numbers{2, 4}));
  EXPECT_TRUE(outcome.spurious.empty());
}

TEST_F(SendSpaceTest, a_report_of_nothing_but_gaps_loses_nothing) {
  send_many(10);
  const auto outcome = ack(0, 9, {{0, 10}});
  EXPECT_TRUE(outcome.valid);
  EXPECT_TRUE(outcome.acked.empty());
  EXPECT_TRUE(outcome.lost.empty());
  EXPECT_EQ(space.in_flight_packets(), 10u);
}

TEST_F(SendSpaceTest, an_interval_may_begin_and_end_with_a_gap) {
  send_many(10);
  const auto outcome = ack(2, 9, {{2, 2}, {8, 2}});
  EXPECT_EQ(numbers(outcome.acked), (Numbers{4, 5, 6, 7}));
  EXPECT_EQ(numbers(outcome.lost), (Numbers{2, 3}));
  EXPECT_EQ(space.in_flight_packets(), 4u);
}

TEST_F(SendSpaceTest, acknowledging_a_number_never_sent_is_the_peers_fault) {
  send_many(3);
  EXPECT_FALSE(ack(0, 3).valid);
  EXPECT_EQ(space.in_flight_packets(), 3u);
  EXPECT_TRUE(ack(0, 2).valid);
}

TEST_F(SendSpaceTest, an_interval_upside_down_is_the_peers_fault) {
  send_many(3);
  EXPECT_FALSE(ack(2, 1).valid);
}

TEST_F(SendSpaceTest, an_acknowledgement_of_an_empty_space_is_the_peers_fault) {
  EXPECT_FALSE(ack(0, 0).valid);
}

TEST_F(SendSpaceTest,
       a_lost_packet_that_is_reported_after_all_is_spurious_and_not_acknowledged_again) {
  send_many(10);
  EXPECT_EQ(numbers(ack(0, 9, {{0, 2}}).lost), (Numbers{0, 1}));
  const auto outcome = ack(0, 9, {{0, 1}});
  EXPECT_EQ(numbers(outcome.spurious), Numbers{1});
  EXPECT_GT(outcome.spurious[0].packet.sent_at, Timestamp{}) << "or no controller can undo it";
  EXPECT_TRUE(outcome.acked.empty());
  EXPECT_TRUE(ack(0, 9, {{0, 1}}).spurious.empty());
  EXPECT_EQ(space.in_flight_packets(), 0u);
}

TEST_F(SendSpaceTest, an_old_report_that_comes_late_changes_nothing) {
  send_many(10);
  (void)ack(0, 9);
  const auto outcome = ack(0, 5, {{1, 3}});
  EXPECT_TRUE(outcome.valid);
  EXPECT_TRUE(outcome.acked.empty());
  EXPECT_TRUE(outcome.lost.empty());
  EXPECT_FALSE(outcome.has_rtt_sample);
}

TEST_F(SendSpaceTest, the_newest_packet_newly_acknowledged_gives_a_sample) {
  send_many(2);
  const auto outcome = ack(0, 1);
  ASSERT_TRUE(outcome.has_rtt_sample);
  EXPECT_EQ(outcome.rtt_sample, kRtt - kPacketTime);
  EXPECT_FALSE(ack(0, 1).has_rtt_sample);
}

TEST_F(SendSpaceTest, packets_nobody_waits_for_cost_nothing) {
  for (int i = 0; i < 1000; ++i) space.on_sent({});
  send({});
  const auto outcome = ack(900, 1000, {{950, 10}});
  EXPECT_EQ(numbers(outcome.acked), Numbers{1000});
  EXPECT_TRUE(outcome.lost.empty());
}

TEST_F(SendSpaceTest, only_packets_that_count_are_in_flight) {
  send({}, 1000, false);
  send({}, 1000, true);
  EXPECT_EQ(space.in_flight_packets(), 1u);
  EXPECT_EQ(ack(0, 1).acked.size(), 2u);
  EXPECT_EQ(space.in_flight_packets(), 0u);
}

TEST_F(SendSpaceTest, congestion_marks_are_told_once) {
  send_many(2);
  wire::Ack frame;
  frame.largest = 1;
  frame.ce = 5;
  EXPECT_EQ(space.on_ack(at(kRtt), frame, kPacketTime, kRtt).newly_ce, 5u);
  EXPECT_EQ(space.on_ack(at(kRtt), frame, kPacketTime, kRtt).newly_ce, 0u);
  frame.ce = 3;  // an older report
  EXPECT_EQ(space.on_ack(at(kRtt), frame, kPacketTime, kRtt).newly_ce, 0u);
}

TEST_F(SendSpaceTest, the_window_is_three_packet_times_on_an_ordered_path) {
  send_many(2);
  (void)ack(0, 1);
  EXPECT_EQ(space.window(), kWindow);
}

TEST_F(SendSpaceTest, the_window_follows_the_lateness_the_receiver_saw) {
  send_many(100);
  (void)ack(0, 1, {}, milliseconds(2));
  EXPECT_GE(space.window(), milliseconds(2));
  EXPECT_LE(space.window(), milliseconds(5));
  // 97 packet times are below the window now.
  EXPECT_TRUE(ack(0, 99, {{2, 1}}).lost.empty());
}

TEST_F(SendSpaceTest, what_was_learned_fades_over_tens_of_round_trips) {
  send_many(200);
  (void)ack(0, 0, {}, milliseconds(2));
  const Duration learned = space.window();
  for (int i = 1; i < 16; ++i) (void)ack(0, 0, {}, {}, (1 + i) * kRtt);
  EXPECT_GT(space.window(), learned / 8);
  EXPECT_LT(space.window(), learned);
  for (int i = 16; i < 300; ++i) (void)ack(0, 0, {}, {}, (1 + i) * kRtt);
  EXPECT_LT(space.window(), 3 * kWindow);
}

TEST_F(SendSpaceTest, a_peer_cannot_stretch_the_window_without_bound) {
  send_many(2);
  wire::Ack frame;
  frame.largest = 1;
  frame.lateness_us = UINT64_MAX >> 2;
  (void)space.on_ack(at(kRtt), frame, kPacketTime, kRtt);
  EXPECT_LE(space.window(), kRtt + kWindow);
}

TEST_F(SendSpaceTest, a_packet_held_back_for_seconds_makes_no_other_wait_longer_than_a_round_trip) {
  send_many(100);
  (void)ack(0, 1, {}, std::chrono::seconds(2));
  EXPECT_GE(space.window(), kRtt);
  EXPECT_LE(space.window(), kRtt + kWindow);
}

TEST_F(SendSpaceTest, packets_too_large_for_the_path_are_given_up_and_the_rest_is_kept) {
  send({}, 9000);
  send({}, 1200);
  send({}, 9000);
  EXPECT_EQ(numbers(space.lose_larger_than(1252)), (Numbers{0, 2}));
  EXPECT_EQ(space.in_flight_packets(), 1u);
  EXPECT_TRUE(space.lose_larger_than(1252).empty());
  EXPECT_EQ(numbers(space.lose_all()), Numbers{1});
}

TEST_F(SendSpaceTest, a_packet_given_up_as_too_large_that_arrived_is_spurious_not_acknowledged) {
  send({}, 9000);
  send({}, 9000);
  send({}, 1200);
  EXPECT_EQ(space.lose_larger_than(1252).size(), 2u);
  const auto outcome = ack(0, 2, {{1, 1}});
  EXPECT_EQ(numbers(outcome.acked), Numbers{2});
  EXPECT_EQ(numbers(outcome.spurious), Numbers{0});
  EXPECT_TRUE(outcome.lost.empty());
  EXPECT_EQ(space.in_flight_packets(), 0u);
}

TEST_F(SendSpaceTest, the_floor_lags_a_round_trip_behind_what_is_settled) {
  send_many(10);
  EXPECT_EQ(space.confirmed_floor(at(kRtt), kRtt), 0u);
  (void)ack(0, 9, {}, {}, kRtt);
  EXPECT_EQ(space.confirmed_floor(at(kRtt + milliseconds(1)), kRtt), 0u);
  EXPECT_EQ(space.confirmed_floor(at(2 * kRtt), kRtt), 0u);  // only now a candidate
  EXPECT_EQ(space.confirmed_floor(at(3 * kRtt - microseconds(1)), kRtt), 0u);
  EXPECT_EQ(space.confirmed_floor(at(3 * kRtt), kRtt), 10u);
}

TEST_F(SendSpaceTest, the_floor_stops_below_the_first_open_fate) {
  send_many(10);
  (void)ack(0, 6, {{5, 1}});  // 5 may still arrive
  for (int i = 1; i < 5; ++i) (void)space.confirmed_floor(at((1 + i) * kRtt), kRtt);
  EXPECT_EQ(space.confirmed_floor(at(6 * kRtt), kRtt), 5u);
}

TEST_F(SendSpaceTest, a_gap_loses_only_what_is_open_inside_it) {
  send_many(20);
  (void)ack(4, 7);
  const auto outcome = ack(0, 19, {{0, 4}, {5, 10}});
  EXPECT_EQ(numbers(outcome.lost), (Numbers{0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14}));
  EXPECT_EQ(numbers(outcome.acked), (Numbers{15, 16, 17, 18, 19}));
  EXPECT_EQ(space.in_flight_packets(), 0u);
}

TEST_F(SendSpaceTest, who_acknowledges_a_number_that_was_left_out_is_found_out) {
  tests::SeededSource random(7);
  space.skip_numbers(random);
  std::uint64_t before = 0;
  std::vector<std::uint64_t> skipped;
  for (int i = 0; i < 20'000; ++i) {
    before = space.next_number();
    send(i * kPacketTime);
    if (space.next_number() != before + 1) skipped.push_back(before + 1);
  }
  ASSERT_GE(skipped.size(), 20'000u / 4'608);
  ASSERT_LE(skipped.size(), 20'000u / 512);
  const std::uint64_t last = space.next_number() - 1;
  EXPECT_TRUE(ack(0, skipped[0] - 1).valid);
  EXPECT_FALSE(ack(0, skipped[0]).valid);
  EXPECT_FALSE(ack(skipped[0] + 1, last).valid) << "the others";
  std::vector<wire::Gap> honest;
  for (const std::uint64_t number : skipped) honest.push_back({number, 1});
  const AckOutcome outcome = ack(0, last, honest);
  EXPECT_TRUE(outcome.valid);
  EXPECT_TRUE(outcome.lost.empty());
  EXPECT_EQ(space.in_flight_packets(), 0u);
  honest.pop_back();
  EXPECT_FALSE(ack(0, last, honest).valid);
  // Once the floor is above them nobody has to speak of them again.
  const auto floor = [&](Duration when) { return space.confirmed_floor(at(when), kRtt); };
  floor(10 * kRtt);
  EXPECT_EQ(floor(20 * kRtt), last + 1);
  EXPECT_TRUE(ack(last, last).valid);
}

}  // namespace
}  // namespace longhaul::recovery
