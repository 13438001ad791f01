// SPDX-License-Identifier: Apache-2.0
#include "lib/recovery/receive_space.hpp"

#include <gtest/gtest.h>

namespace longhaul::recovery {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr AckTiming kTiming{};

Timestamp at(Duration since) {
  return Timestamp{} + seconds(1) + since;
}

struct ReceiveSpaceTest : testing::Test {
  ReceiveSpace space;
  wire::Ack ack;

  void arrive(std::uint64_t number, Duration when = {}, bool ack_eliciting = true,
              bool urgent = false) {
    ASSERT_TRUE(space.is_new(number));
    space.on_received(at(when), {number, 1000, base::Ecn::not_ect, ack_eliciting, urgent}, kTiming);
  }
  void arrive_all(std::uint64_t begin, std::uint64_t end, Duration when = {}) {
    for (std::uint64_t i = begin; i < end; ++i) arrive(i, when);
  }
  const wire::Ack& report(Duration when = {}) {
    ack = {};
    space.begin_ack(at(when), ack);
    space.end_ack(at(when));
    return ack;
  }
  bool full_report(Duration when = {}) { return report(when).floor == 0; }
};

TEST_F(ReceiveSpaceTest, a_number_is_new_once) {
  EXPECT_TRUE(space.is_new(5));
  arrive(5);
  EXPECT_FALSE(space.is_new(5));
  EXPECT_TRUE(space.is_new(4));
  EXPECT_TRUE(space.is_new(6));
}

TEST_F(ReceiveSpaceTest, before_the_first_packet_the_next_number_expected_is_zero) {
  EXPECT_EQ(space.largest() + 1, 0u);
  EXPECT_EQ(space.ack_due(), kNever);
}

TEST_F(ReceiveSpaceTest, a_report_lists_every_gap_above_the_floor) {
  arrive_all(0, 3);
  arrive_all(5, 6);
  arrive_all(9, 10);
  report();
  EXPECT_EQ(ack.floor, 0u);
  EXPECT_EQ(ack.largest, 9u);
  ASSERT_EQ(ack.gaps.size(), 2u);
  EXPECT_EQ(ack.gaps[0], (wire::Gap{3, 2}));
  EXPECT_EQ(ack.gaps[1], (wire::Gap{6, 3}));
  EXPECT_TRUE(ack.largest_is_newest);
}

TEST_F(ReceiveSpaceTest, what_is_missing_at_the_front_is_a_gap_too) {
  arrive(2);
  report();
  EXPECT_EQ(ack.floor, 0u);
  ASSERT_EQ(ack.gaps.size(), 1u);
  EXPECT_EQ(ack.gaps[0], (wire::Gap{0, 2}));
}

TEST_F(ReceiveSpaceTest, nothing_is_reported_or_accepted_below_the_floor) {
  arrive(0);
  arrive(5);
  arrive(8);
  space.set_floor(4);
  EXPECT_FALSE(space.is_new(3));
  EXPECT_TRUE(space.is_new(4));
  report();
  EXPECT_EQ(ack.floor, 4u);
  ASSERT_EQ(ack.gaps.size(), 2u);
  EXPECT_EQ(ack.gaps[0], (wire::Gap{4, 1}));
}

TEST_F(ReceiveSpaceTest, a_floor_over_everything_leaves_the_largest_to_report) {
  arrive_all(0, 3);
  space.set_floor(3);
  report();
  EXPECT_EQ(ack.floor, 2u);
  EXPECT_EQ(ack.largest, 2u);
  EXPECT_TRUE(ack.gaps.empty());
}

TEST_F(ReceiveSpaceTest, a_floor_never_falls_and_never_passes_what_was_received) {
  arrive_all(0, 10);
  space.set_floor(5);
  space.set_floor(3);
  EXPECT_EQ(report().floor, 5u);
  space.set_floor(1000);
  EXPECT_TRUE(space.is_new(10));
  EXPECT_EQ(report().floor, 5u);
}

// Only a peer that lies puts the floor above the packet that carries it.
TEST_F(ReceiveSpaceTest, a_packet_that_raised_the_floor_above_itself_is_not_reported) {
  arrive(9);
  ASSERT_TRUE(space.is_new(5));
  space.set_floor(7);
  space.on_received(at({}), {5, 1000, base::Ecn::not_ect, true, false}, kTiming);
  report();
  EXPECT_EQ(ack.floor, 7u);
  EXPECT_EQ(ack.largest, 9u);
  ASSERT_EQ(ack.gaps.size(), 1u);
  EXPECT_EQ(ack.gaps[0], (wire::Gap{7, 2}));
}

TEST_F(ReceiveSpaceTest, counters_are_cumulative) {
  arrive(0);
  space.on_received(at({}), {1, 500, base::Ecn::ce, true, false}, kTiming);
  report(microseconds(7));
  EXPECT_EQ(ack.packets, 2u);
  EXPECT_EQ(ack.bytes, 1500u);
  EXPECT_EQ(ack.ce, 1u);
  EXPECT_EQ(ack.largest_delay_us, 7u);
}

TEST_F(ReceiveSpaceTest, an_ack_eliciting_packet_waits_no_longer_than_the_delay) {
  arrive(0, {}, false);
  EXPECT_EQ(space.ack_due(), kNever);
  arrive(1, microseconds(10));
  EXPECT_EQ(space.ack_due(), at(microseconds(10) + kTiming.delay_max));
  arrive(2, microseconds(20));
  EXPECT_EQ(space.ack_due(), at(microseconds(10) + kTiming.delay_max));
  report(milliseconds(1));
  EXPECT_EQ(space.ack_due(), kNever);
}

TEST_F(ReceiveSpaceTest, enough_packets_ask_for_a_report_at_once) {
  arrive_all(0, kTiming.packets - 1);
  EXPECT_GT(space.ack_due(), at({}));
  arrive(kTiming.packets - 1);
  EXPECT_EQ(space.ack_due(), at({}));
}

TEST_F(ReceiveSpaceTest, reports_that_counts_ask_for_keep_their_distance) {
  arrive(0, {}, true, true);
  report();
  arrive_all(1, 1 + kTiming.packets, microseconds(1));
  EXPECT_EQ(space.ack_due(), at(kTiming.spacing_min));
}

TEST_F(ReceiveSpaceTest, an_urgent_packet_is_answered_at_once) {
  arrive(0, {}, true, true);
  EXPECT_EQ(space.ack_due(), at({}));
}

TEST_F(ReceiveSpaceTest, a_gap_is_reported_once_a_few_packets_could_have_followed_it) {
  for (int i = 0; i < 200; ++i) arrive(static_cast<std::uint64_t>(i), i * microseconds(10));
  report(microseconds(1990));
  arrive(201, microseconds(2010));
  EXPECT_GE(space.ack_due(), at(microseconds(2010 + 20)));
  EXPECT_LE(space.ack_due(), at(microseconds(2010 + 60)));
}

TEST_F(ReceiveSpaceTest, gaps_among_packets_that_want_no_answer_ask_for_nothing) {
  arrive(0, {}, false);
  arrive(5, microseconds(5), false);
  arrive(3, microseconds(6), false);
  EXPECT_EQ(space.ack_due(), kNever);
}

TEST_F(ReceiveSpaceTest, lateness_is_how_long_after_its_gap_a_packet_came) {
  arrive(0);
  arrive(2, milliseconds(1));
  arrive(1, milliseconds(4));
  EXPECT_EQ(report(milliseconds(4)).lateness_us, 3000u);
}

TEST_F(ReceiveSpaceTest, lateness_survives_one_span_and_is_then_forgotten) {
  arrive(0);
  arrive(2, milliseconds(1));
  arrive(1, milliseconds(4));
  EXPECT_EQ(report(milliseconds(150)).lateness_us, 3000u);
  EXPECT_EQ(report(milliseconds(300)).lateness_us, 0u);
}

TEST_F(ReceiveSpaceTest, lateness_of_long_ago_does_not_come_back_with_the_next_late_packet) {
  arrive(0);
  arrive(2, milliseconds(1));
  arrive(1, milliseconds(51));
  arrive(4, seconds(10));
  arrive(3, seconds(10) + microseconds(5));
  EXPECT_EQ(report(seconds(10) + microseconds(5)).lateness_us, 5u);
}

TEST_F(ReceiveSpaceTest, lateness_is_still_seen_after_more_gaps_than_are_remembered) {
  std::uint64_t number = 0;
  for (int i = 0; i < 10'000; ++i, number += 2) arrive(number, i * microseconds(1));
  arrive(number - 3, milliseconds(15));
  // The gap became visible with its successor, at 9.999 ms.
  EXPECT_EQ(report(milliseconds(15)).lateness_us, 5001u);
}

TEST_F(ReceiveSpaceTest, most_reports_tell_the_newest_gaps_and_every_eighth_tells_all) {
  for (std::uint64_t i = 0; i < 400; i += 2) arrive(i);
  while (!full_report()) {
  }
  int full = 0;
  for (std::uint64_t i = 400; i < 464; ++i) {
    arrive(i);
    full += full_report() ? 1 : 0;
    EXPECT_LE(ack.gaps.size(), 200u);
  }
  EXPECT_EQ(full, 8);
}

TEST_F(ReceiveSpaceTest, filling_an_old_gap_is_told_with_the_next_report) {
  for (std::uint64_t i = 0; i < 400; i += 2) arrive(i);
  while (!full_report()) {
  }
  EXPECT_FALSE(full_report());
  arrive(1);
  EXPECT_TRUE(full_report());
  EXPECT_EQ(ack.gaps.front(), (wire::Gap{3, 1}));
}

TEST_F(ReceiveSpaceTest, a_report_leaves_out_nothing_that_no_report_has_told) {
  arrive(0);
  report();
  for (std::uint64_t i = 2; i < 400; i += 2) arrive(i);  // between two reports
  EXPECT_LE(report().floor, 1u);
}

}  // namespace
}  // namespace longhaul::recovery
