// SPDX-License-Identifier: Apache-2.0
#include "congestion/cubic.hpp"

#include <gtest/gtest.h>

namespace longhaul::congestion {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kDatagram = 1200;
constexpr Duration kRtt = milliseconds(50);

class CubicTest : public testing::Test {
 protected:
  std::uint64_t window() const { return cubic.congestion_window(); }

  // Sends a full window, to be acknowledged from kRtt later on.
  void send_window() {
    cubic.on_sent({.now = now, .bytes = kDatagram, .bytes_in_flight = window()});
  }

  AckEvent ack_event(std::uint64_t bytes, Duration rtt = kRtt) const {
    return {.now = now,
            .newest_acked_sent_at = now - rtt,
            .acked_bytes = bytes,
            .acked_packets = bytes / kDatagram,
            .bytes_in_flight = window() > bytes ? window() - bytes : 0,
            .latest_rtt = rtt,
            .min_rtt = rtt,
            .smoothed_rtt = rtt};
  }

  // One round trip: a window out, `samples` acknowledgements for all of it back.
  void round(int samples = 10, Duration rtt = kRtt) {
    send_window();
    const Timestamp sent_at = now;
    now += rtt;
    const std::uint64_t bytes = window();
    for (int i = 0; i < samples; ++i) {
      AckEvent ack = ack_event(bytes / static_cast<std::uint64_t>(samples), rtt);
      ack.newest_acked_sent_at = sent_at;
      cubic.on_ack(ack);
      now += Duration(1000);
    }
  }

  LossEvent loss_event(Timestamp sent_at, std::uint64_t packets = 1) const {
    return {.now = now,
            .newest_lost_sent_at = sent_at,
            .lost_bytes = packets * kDatagram,
            .lost_packets = packets,
            .bytes_in_flight = window()};
  }

  Cubic cubic{{.max_datagram = kDatagram, .initial_rtt = milliseconds(100)}};
  Timestamp now = Timestamp{} + seconds(100);
};

TEST_F(CubicTest, StartsWithTenDatagramsPacedAtTwiceTheWindowPerRtt) {
  EXPECT_EQ(window(), 10 * kDatagram);
  EXPECT_TRUE(cubic.in_slow_start());
  EXPECT_EQ(cubic.pacing_rate(), 2u * 12'000 * 8 * 10);
}

TEST_F(CubicTest, DoublesPerRoundInSlowStart) {
  for (int i = 1; i <= 10; ++i) {
    round();
    EXPECT_NEAR(static_cast<double>(window()), 12'000.0 * (1 << i), 100.0);
  }
}

TEST_F(CubicTest, PacesAtFiveQuartersOfTheWindowPerRttInCongestionAvoidance) {
  round();
  cubic.on_loss(loss_event(now));
  EXPECT_FALSE(cubic.in_slow_start());
  EXPECT_EQ(cubic.pacing_rate(), window() * 8 * 20 * 5 / 4);
}

TEST_F(CubicTest, NeverPacesAboveTheConfiguredRate) {
  Cubic capped({.max_datagram = kDatagram, .configured_rate = 1'000'000});
  EXPECT_EQ(capped.pacing_rate(), 1'000'000u);
}

TEST_F(CubicTest, ReducesToSevenTenthsOnLossAndOnCongestionMarks) {
  for (int i = 0; i < 6; ++i) round();
  const std::uint64_t before = window();
  cubic.on_loss(loss_event(now));
  EXPECT_EQ(window(), before * 7 / 10);
  EXPECT_EQ(cubic.slow_start_threshold(), window());
  const std::uint64_t after = window();
  send_window();
  now += kRtt;
  AckEvent marked = ack_event(kDatagram);
  marked.newest_acked_sent_at = now - kRtt + Duration(1);
  marked.ce_packets = 3;
  // Sent before the reduction: the same congestion.
  marked.newest_acked_sent_at -= milliseconds(1);
  cubic.on_ack(marked);
  EXPECT_EQ(window(), after);
  marked.newest_acked_sent_at = now - Duration(1);
  cubic.on_ack(marked);
  EXPECT_EQ(window(), after * 7 / 10);
}

TEST_F(CubicTest, CountsPacketsHandedOutBeforeTheReductionToTheOldFlight) {
  for (int i = 0; i < 6; ++i) round();
  cubic.on_sent({.now = now + Duration(20'000), .bytes = kDatagram, .bytes_in_flight = window()});
  cubic.on_loss(loss_event(now));
  const std::uint64_t after = window();
  cubic.on_loss(loss_event(now + Duration(20'000)));
  EXPECT_EQ(window(), after);
  cubic.on_loss(loss_event(now + Duration(20'001)));
  EXPECT_LT(window(), after);
}

TEST_F(CubicTest, ReturnsTheWindowWhenEveryLossOfTheEpisodeWasSpurious) {
  for (int i = 0; i < 6; ++i) round();
  const std::uint64_t before = window();
  const std::uint64_t threshold = cubic.slow_start_threshold();
  const Timestamp sent_at = now - milliseconds(1);
  cubic.on_loss(loss_event(sent_at, 2));
  cubic.on_loss(loss_event(sent_at, 1));
  ASSERT_LT(window(), before);
  cubic.on_spurious_loss(now, sent_at);
  cubic.on_spurious_loss(now, sent_at);
  ASSERT_LT(window(), before);  // one of the three may still be real
  cubic.on_spurious_loss(now, sent_at);
  EXPECT_EQ(window(), before);
  EXPECT_EQ(cubic.slow_start_threshold(), threshold);
  // The window is open to real congestion again, also of packets sent before the false alarm.
  cubic.on_loss(loss_event(sent_at));
  EXPECT_EQ(window(), before * 7 / 10);
}

TEST_F(CubicTest, GoesOnAlongItsCurveAfterAFalseAlarm) {
  for (int i = 0; i < 8; ++i) round();
  cubic.on_loss(loss_event(now));
  now += Duration(1);
  for (int i = 0; i < 20; ++i) round();
  Cubic undisturbed = cubic;
  const Timestamp then = now;
  const Timestamp sent_at = now - milliseconds(1);
  cubic.on_loss(loss_event(sent_at));
  now += kRtt;
  cubic.on_spurious_loss(now, sent_at);
  round();
  const std::uint64_t disturbed = window();
  cubic = undisturbed;
  now = then;
  round();
  EXPECT_EQ(window(), disturbed);  // the detour is no time of the curve
}

TEST_F(CubicTest, KeepsTheReductionWhenMarksConfirmIt) {
  for (int i = 0; i < 6; ++i) round();
  const Timestamp sent_at = now - milliseconds(1);
  cubic.on_loss(loss_event(sent_at));
  const std::uint64_t after = window();
  AckEvent marked = ack_event(kDatagram);
  marked.newest_acked_sent_at = sent_at;
  marked.ce_packets = 1;
  cubic.on_ack(marked);
  cubic.on_spurious_loss(now, sent_at);
  EXPECT_EQ(window(), after);
}

TEST_F(CubicTest, IgnoresSpuriousLossesOfEarlierEpisodes) {
  for (int i = 0; i < 6; ++i) round();
  const Timestamp first = now - milliseconds(1);
  cubic.on_loss(loss_event(first));
  now += Duration(1);
  round();
  cubic.on_loss(loss_event(now));
  const std::uint64_t after = window();
  cubic.on_spurious_loss(now, first);
  EXPECT_EQ(window(), after);
}

TEST_F(CubicTest, ForgetsItsPlateauAfterPersistentCongestion) {
  for (int i = 0; i < 8; ++i) round();
  const std::uint64_t before = window();
  LossEvent loss = loss_event(now, 100);
  loss.persistent_congestion = true;
  cubic.on_loss(loss);
  EXPECT_EQ(window(), 2 * kDatagram);
  EXPECT_EQ(cubic.slow_start_threshold(), before * 7 / 10);
  cubic.on_spurious_loss(now, now);
  EXPECT_EQ(window(), 2 * kDatagram);
  now += Duration(1);
  while (cubic.in_slow_start()) round();
  EXPECT_NEAR(static_cast<double>(window()), static_cast<double>(before) * 0.7, kDatagram);
  // K = 0: from here the window creeps away from where it is instead of racing to the old plateau.
  for (int i = 0; i < 10; ++i) round();
  EXPECT_LT(window(), before * 8 / 10);
}

TEST_F(CubicTest, LeavesSlowStartWhenTheRttRisesAndGoesOnFromThere) {
  for (int i = 0; i < 6; ++i) round();
  round(10, milliseconds(60));
  EXPECT_TRUE(cubic.in_conservative_slow_start());
  for (int i = 0; i < 5; ++i) round(10, milliseconds(60));
  EXPECT_FALSE(cubic.in_slow_start());
  const std::uint64_t window_at_exit = window();
  round(10, milliseconds(60));
  EXPECT_GE(window(), window_at_exit);
  EXPECT_LE(window(), window_at_exit + 2 * kDatagram);
}

TEST_F(CubicTest, StaysInSlowStartThroughAFalseAlarm) {
  for (int i = 0; i < 4; ++i) round();
  round(10, milliseconds(60));
  ASSERT_TRUE(cubic.in_conservative_slow_start());
  round();
  EXPECT_TRUE(cubic.in_slow_start());
  EXPECT_FALSE(cubic.in_conservative_slow_start());
}

TEST_F(CubicTest, DoesNotCountApplicationLimitedTimeInItsCurve) {
  for (int i = 0; i < 8; ++i) round();
  cubic.on_loss(loss_event(now));
  now += Duration(1);
  for (int i = 0; i < 4; ++i) round();
  const std::uint64_t before = window();
  for (int i = 0; i < 10'000; ++i) {  // 500 s with nothing much to send
    now += kRtt;
    AckEvent ack = ack_event(kDatagram);
    ack.application_limited = true;
    cubic.on_ack(ack);
  }
  EXPECT_EQ(window(), before);
  round();
  EXPECT_LT(window(), before + before / 10);
}

TEST_F(CubicTest, DoesNotGrowAWindowItDoesNotUse) {
  for (int i = 0; i < 4; ++i) round();
  const std::uint64_t used = window();
  for (int i = 0; i < 100; ++i) {
    cubic.on_sent({.now = now, .bytes = kDatagram, .bytes_in_flight = used});
    now += kRtt;
    AckEvent ack = ack_event(used);
    ack.bytes_in_flight = 0;
    cubic.on_ack(ack);
  }
  EXPECT_GE(window(), 2 * used);
  EXPECT_LE(window(), 3 * used);
}

TEST_F(CubicTest, TakesTheInitialWindowOfALargerDatagramOnlyWhileUntouched) {
  cubic.on_max_datagram_changed(8952);
  EXPECT_EQ(window(), initial_window(8952));
  round();
  const std::uint64_t grown = window();
  cubic.on_max_datagram_changed(1200);
  EXPECT_EQ(window(), grown);
}

TEST_F(CubicTest, AtMostDoublesOnOneAcknowledgement) {
  send_window();
  now += kRtt;
  const std::uint64_t before = window();
  AckEvent ack = ack_event(before);
  ack.acked_bytes = UINT64_MAX;
  cubic.on_ack(ack);
  EXPECT_EQ(window(), 2 * before);
}

TEST_F(CubicTest, KeepsALargerWindowWhenAFalseAlarmComesToLightLate) {
  for (int i = 0; i < 4; ++i) round();
  const std::uint64_t before = window();
  const Timestamp sent_at = now - milliseconds(1);
  cubic.on_loss(loss_event(sent_at));
  now += Duration(1);
  while (window() <= before) round();
  const std::uint64_t grown = window();
  const std::uint64_t threshold = cubic.slow_start_threshold();
  cubic.on_spurious_loss(now, sent_at);
  EXPECT_EQ(window(), grown);
  EXPECT_EQ(cubic.slow_start_threshold(), threshold);
}

TEST_F(CubicTest, DoesNotTakeBackAMarkBecauseLossesBesideItWereSpurious) {
  for (int i = 0; i < 6; ++i) round();
  const Timestamp sent_at = now - milliseconds(1);
  AckEvent marked = ack_event(kDatagram);
  marked.newest_acked_sent_at = sent_at;
  marked.ce_packets = 1;
  cubic.on_ack(marked);
  const std::uint64_t after = window();
  cubic.on_loss(loss_event(sent_at));
  cubic.on_spurious_loss(now, sent_at);
  EXPECT_EQ(window(), after);
}

TEST_F(CubicTest, CountsEverythingSentBeforePersistentCongestionToIt) {
  for (int i = 0; i < 6; ++i) round();
  cubic.on_loss(loss_event(now));
  now += Duration(1);
  send_window();
  const Timestamp between = now;
  now += milliseconds(500);
  LossEvent loss = loss_event(between - Duration(1), 100);
  loss.persistent_congestion = true;
  cubic.on_loss(loss);
  ASSERT_EQ(window(), 2 * kDatagram);
  const std::uint64_t threshold = cubic.slow_start_threshold();
  cubic.on_loss(loss_event(between));
  EXPECT_EQ(cubic.slow_start_threshold(), threshold);
}

TEST_F(CubicTest, GrowsByHalfPerRoundAtMostHoweverFarAheadTheCurveIs) {
  for (int i = 0; i < 6; ++i) round();
  cubic.on_loss(loss_event(now));
  now += Duration(1);
  round();
  send_window();
  const Timestamp sent_at = now;
  now += seconds(200);  // the path was silent, not the application
  const std::uint64_t before = window();
  AckEvent ack = ack_event(before);
  ack.newest_acked_sent_at = sent_at;
  cubic.on_ack(ack);
  EXPECT_EQ(window(), before + before / 2);
}

TEST_F(CubicTest, FitsItsCurveToANewDatagramSize) {
  for (int i = 0; i < 10; ++i) round();
  const std::uint64_t before = window();
  cubic.on_loss(loss_event(now));
  now += Duration(1);
  round();
  cubic.on_max_datagram_changed(8952);
  // K of the larger segments is ∛(0.3 · 12,288,000 / 8952 / 0.4) = 10.1 s, and the last half
  // percent takes 2.6 s of it. Of the smaller ones it would be 19.7 s less 5.0 s.
  const Timestamp start = now;
  while (window() < before * 995 / 1000) round();
  EXPECT_NEAR(static_cast<double>((now - start).count()) * 1e-9, 7.5, 0.2);
}

TEST_F(CubicTest, IgnoresALossOfNothing) {
  const std::uint64_t before = window();
  cubic.on_loss(loss_event(now, 0));
  EXPECT_EQ(window(), before);
}

}  // namespace
}  // namespace longhaul::congestion
