// SPDX-License-Identifier: Apache-2.0
// Tail markers and liveness, each alone.
#include <gtest/gtest.h>

#include <vector>

#include "lib/connection/liveness.hpp"
#include "lib/connection/tail_markers.hpp"

namespace longhaul::connection {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kBulk = TrafficClass::bulk;
constexpr Duration kWindow = microseconds(100);
constexpr Duration kInterval = milliseconds(25);

Timestamp at(Duration since) {
  return Timestamp{} + since;
}

// When the markers of a queue that ran empty at time 0 leave, as multiples of the window.
std::vector<std::int64_t> marker_windows(TailMarkers& markers, int count) {
  std::vector<std::int64_t> waits;
  Timestamp last = at({});
  for (int i = 0; i < count; ++i) {
    const Timestamp due = markers.due(kBulk);
    waits.push_back((due - last) / kWindow);
    markers.on_marker_sent(kBulk, due, kInterval);
    last = due;
  }
  return waits;
}

TEST(tail_markers, leave_at_one_two_four_windows_and_then_at_the_probe_interval) {
  TailMarkers markers;
  EXPECT_EQ(markers.due(kBulk), kNever);
  markers.on_data_sent(kBulk, at({}), kWindow, milliseconds(10));
  EXPECT_EQ(marker_windows(markers, 11),
            (std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 64, 128, 250, 250, 250}));
}

TEST(tail_markers, never_stop_asking_by_themselves) {
  TailMarkers markers;
  markers.on_data_sent(kBulk, at({}), kWindow, milliseconds(10));
  for (const std::int64_t wait : marker_windows(markers, 1000)) ASSERT_LE(wait, 250);
}

TEST(tail_markers, begin_again_with_every_chunk_that_leaves) {
  TailMarkers markers;
  markers.on_data_sent(kBulk, at({}), kWindow, milliseconds(10));
  marker_windows(markers, 3);
  markers.on_data_sent(kBulk, at(milliseconds(5)), kWindow, milliseconds(10));
  EXPECT_EQ(markers.due(kBulk), at(milliseconds(5) + kWindow));
}

TEST(tail_markers, wait_for_a_pto_while_the_window_is_closed) {
  TailMarkers markers;
  markers.on_data_sent(kBulk, at({}), kWindow, milliseconds(10));
  EXPECT_EQ(markers.due_with_closed_window(kBulk, milliseconds(30)), at(milliseconds(30)));
  markers.on_marker_sent(kBulk, at(milliseconds(30)), kInterval);
  EXPECT_EQ(markers.due_with_closed_window(kBulk, milliseconds(30)), markers.due(kBulk));
  markers.stop(kBulk);
  EXPECT_EQ(markers.due_with_closed_window(kBulk, milliseconds(30)), kNever);
}

TEST(tail_markers, each_class_has_its_own) {
  TailMarkers markers;
  markers.on_data_sent(kBulk, at({}), kWindow, milliseconds(10));
  EXPECT_EQ(markers.due(TrafficClass::critical), kNever);
  markers.stop(kBulk);
  EXPECT_EQ(markers.due(kBulk), kNever);
}

TEST(tail_markers, a_window_of_nothing_does_not_ask_without_pause) {
  TailMarkers markers;
  markers.on_data_sent(kBulk, at({}), {}, {});
  EXPECT_GE(markers.due(kBulk), at(microseconds(20)));
}

TEST(tail_markers, a_window_longer_than_the_interval_is_cut_to_it) {
  TailMarkers markers;
  markers.on_data_sent(kBulk, at({}), std::chrono::hours(1), milliseconds(10));
  markers.on_marker_sent(kBulk, at({}), kInterval);
  EXPECT_EQ(markers.due(kBulk), at(kInterval));
}

constexpr Duration kPatience = milliseconds(250);

TEST(liveness, a_heartbeat_is_due_when_nothing_was_asked_for_that_long) {
  Liveness liveness(at({}), milliseconds(400), milliseconds(2000));
  EXPECT_FALSE(liveness.heartbeat_due(at(milliseconds(399)), kPatience));
  EXPECT_TRUE(liveness.heartbeat_due(at(milliseconds(400)), kPatience));
  liveness.on_asked(at(milliseconds(300)));
  liveness.on_heard(at(milliseconds(310)));
  EXPECT_FALSE(liveness.heartbeat_due(at(milliseconds(699)), kPatience));
  EXPECT_EQ(liveness.next_timeout(kPatience), at(milliseconds(700)));
}

TEST(liveness, silence_beyond_the_timeout_is_a_lost_peer) {
  Liveness liveness(at({}), milliseconds(400), milliseconds(2000));
  liveness.on_heard(at(milliseconds(100)));
  EXPECT_FALSE(liveness.lost(at(milliseconds(2099))));
  EXPECT_TRUE(liveness.lost(at(milliseconds(2100))));
  EXPECT_EQ(liveness.silence(at(milliseconds(2100))), milliseconds(2000));
}

TEST(liveness, an_unanswered_question_is_repeated_before_the_next_heartbeat) {
  Liveness liveness(at({}), seconds(2), seconds(10));
  liveness.on_asked(at(seconds(2)));
  EXPECT_FALSE(liveness.heartbeat_due(at(milliseconds(2249)), kPatience));
  EXPECT_TRUE(liveness.heartbeat_due(at(milliseconds(2250)), kPatience));
  EXPECT_EQ(liveness.next_timeout(kPatience), at(milliseconds(2250)));
  liveness.on_heard(at(milliseconds(2100)));
  EXPECT_EQ(liveness.next_timeout(kPatience), at(seconds(4)));
}

TEST(liveness, an_impatient_peer_hears_five_heartbeats_in_its_timeout) {
  Liveness liveness(at({}), milliseconds(400), milliseconds(2000));
  liveness.on_peer_timeout(milliseconds(500));
  EXPECT_TRUE(liveness.heartbeat_due(at(milliseconds(100)), kPatience));
  liveness.on_peer_timeout(milliseconds(60'000));  // a patient one changes nothing
  EXPECT_TRUE(liveness.heartbeat_due(at(milliseconds(100)), kPatience));
  liveness.on_peer_timeout({});
  EXPECT_FALSE(liveness.heartbeat_due(at(milliseconds(99)), kPatience));
}

}  // namespace
}  // namespace longhaul::connection
