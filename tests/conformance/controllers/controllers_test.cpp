// SPDX-License-Identifier: Apache-2.0
// What every congestion controller must do, whatever its policy. A new one joins by its line in the
// registry.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "congestion/arithmetic.hpp"
#include "congestion/registry.hpp"
#include "lib/base/random.hpp"
#include "tests/conformance/controllers/allocation_counter.hpp"
#include "tests/conformance/controllers/line_model.hpp"

namespace longhaul::congestion {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Line {
  BitsPerSecond rate;
  Duration rtt;
};
constexpr std::array kLines{
    Line{1'000'000, microseconds(10)},        Line{1'000'000, milliseconds(500)},
    Line{100'000'000, milliseconds(20)},      Line{10'000'000'000, microseconds(10)},
    Line{10'000'000'000, milliseconds(50)},   Line{100'000'000'000, milliseconds(200)},
    Line{800'000'000'000, microseconds(10)},  Line{800'000'000'000, milliseconds(200)},
    Line{800'000'000'000, milliseconds(500)},
};

std::string describe(const Line& line) {
  return std::to_string(line.rate / 1'000'000) + " Mbit/s, RTT " +
         std::to_string(line.rtt.count() / 1000) + " us";
}

class Controllers : public testing::TestWithParam<std::string_view> {
 protected:
  static std::unique_ptr<Controller> make(BitsPerSecond rate, std::uint64_t max_datagram = 1200,
                                          std::uint64_t window_max = 0) {
    return find_controller(GetParam())({.max_datagram = max_datagram,
                                        .configured_rate = rate,
                                        .initial_rtt = milliseconds(100),
                                        .window_max = window_max});
  }
  // The one policy that may ignore loss: the operator answers for the rate.
  static bool ignores_loss() { return GetParam() == "fixed"; }
};

void expect_usable(const Controller& controller, std::uint64_t max_datagram) {
  ASSERT_GE(controller.congestion_window(), 2 * max_datagram);
  ASSERT_LE(controller.congestion_window(), kWindowCeiling);
  ASSERT_GT(controller.pacing_rate(), 0u);
  ASSERT_LE(controller.pacing_rate(), kRateCeiling);
}

TEST_P(Controllers, HaveTheirRegistryName) {
  EXPECT_EQ(make(1'000'000'000)->name(), GetParam());
}

TEST_P(Controllers, AreUsableBeforeAnyEventAndAllowTheInitialWindow) {
  for (const std::uint64_t datagram : {1200u, 1452u, 8952u, 65507u}) {
    const auto controller = make(1'000'000'000, datagram);
    expect_usable(*controller, datagram);
    EXPECT_GE(controller->congestion_window(), initial_window(datagram));
  }
}

TEST_P(Controllers, KeepRateAndWindowUsableOnEveryLine) {
  for (const Line& line : kLines) {
    SCOPED_TRACE(describe(line));
    for (const std::uint64_t datagram : {1200u, 8952u}) {
      const auto controller = make(line.rate, datagram);
      LineModel model(*controller, {.rate = line.rate, .rtt = line.rtt, .max_datagram = datagram});
      model.run(4000 * model.slice(), [&] { expect_usable(*controller, datagram); });
      ASSERT_GT(model.delivered_bytes(), 0u);
    }
  }
}

TEST_P(Controllers, FillMostOfACleanLine) {
  for (const Line& line : kLines) {
    SCOPED_TRACE(describe(line));
    const auto controller = make(line.rate, 8952);
    LineModel model(*controller, {.rate = line.rate, .rtt = line.rtt, .max_datagram = 8952});
    const Duration time = 8000 * model.slice();
    model.run(time);  // start-up
    const std::uint64_t before = model.delivered_bytes();
    model.run(time);
    const double share = static_cast<double>(model.delivered_bytes() - before) /
                         static_cast<double>(bytes_in(line.rate, time));
    EXPECT_GE(share, 0.9);
    EXPECT_LE(share, 1.01);  // the model itself carries no more than the line
  }
}

TEST_P(Controllers, NeverFallBelowTwoDatagramsUnderHeavyLoss) {
  const auto controller = make(1'000'000'000);
  LineModel model(*controller, {.loss_interval_bytes = 3 * 1200});
  model.run(seconds(20), [&] { expect_usable(*controller, 1200); });
  ASSERT_GT(model.lost_bytes(), 0u);
}

TEST_P(Controllers, DoNotGrowWhileApplicationLimited) {
  const auto controller = make(1'000'000'000);
  LineModel model(*controller, {.rtt = milliseconds(50), .application_bytes_per_round = 64 * 1200});
  model.run(milliseconds(500));
  const std::uint64_t window = controller->congestion_window();
  ASSERT_GE(window, 64u * 1200);  // the application is what limits
  model.run(seconds(30), [&] { ASSERT_LE(controller->congestion_window(), window); });
}

TEST_P(Controllers, DoNotGrowFromAcknowledgementsMarkedApplicationLimited) {
  const auto controller = make(1'000'000'000);
  Timestamp now = Timestamp{} + seconds(1);
  const std::uint64_t window = controller->congestion_window();
  for (int i = 0; i < 1000; ++i) {
    now += milliseconds(100);
    controller->on_sent({.now = now, .bytes = 1200, .bytes_in_flight = window});
    controller->on_ack({.now = now + milliseconds(100),
                        .newest_acked_sent_at = now,
                        .acked_bytes = window,
                        .acked_packets = window / 1200,
                        .latest_rtt = milliseconds(100),
                        .min_rtt = milliseconds(100),
                        .smoothed_rtt = milliseconds(100),
                        .application_limited = true});
    ASSERT_EQ(controller->congestion_window(), window);
  }
}

TEST_P(Controllers, ReduceAtMostOncePerRound) {
  const auto controller = make(1'000'000'000);
  LineModel model(*controller, {.rtt = milliseconds(50)});
  model.run(milliseconds(300));
  const Timestamp now = model.now();
  const std::uint64_t before = controller->congestion_window();
  const std::uint64_t in_flight = model.bytes_in_flight();
  LossEvent loss{.now = now,
                 .newest_lost_sent_at = now - milliseconds(49),
                 .lost_bytes = 1200,
                 .lost_packets = 1,
                 .bytes_in_flight = in_flight - 1200};
  controller->on_loss(loss);
  const std::uint64_t after = controller->congestion_window();
  if (!ignores_loss()) {
    EXPECT_LT(after, before);
  }
  EXPECT_GE(after, before / 2);
  for (int i = 1; i <= 48; ++i) {  // the rest of the flight is reported lost, bit by bit
    loss.now = now + milliseconds(i);
    loss.newest_lost_sent_at = now - milliseconds(49 - i);
    controller->on_loss(loss);
    ASSERT_EQ(controller->congestion_window(), after) << i;
  }
  // A packet that left after the reduction is a new signal.
  controller->on_sent(
      {.now = now + milliseconds(50), .bytes = 1200, .bytes_in_flight = in_flight / 2});
  loss.now = now + milliseconds(100);
  loss.newest_lost_sent_at = now + milliseconds(50);
  controller->on_loss(loss);
  if (!ignores_loss()) {
    EXPECT_LT(controller->congestion_window(), after);
  }
}

TEST_P(Controllers, DoNotGrowFromPacketsSentBeforeAReduction) {
  const auto controller = make(1'000'000'000);
  LineModel model(*controller, {.rtt = milliseconds(50)});
  model.run(milliseconds(300));
  const Timestamp now = model.now();
  controller->on_loss({.now = now,
                       .newest_lost_sent_at = now - milliseconds(50),
                       .lost_bytes = 1200,
                       .lost_packets = 1,
                       .bytes_in_flight = model.bytes_in_flight()});
  const std::uint64_t window = controller->congestion_window();
  for (int i = 1; i < 50; ++i) {
    controller->on_ack({.now = now + milliseconds(i),
                        .newest_acked_sent_at = now - milliseconds(50 - i),
                        .acked_bytes = 12000,
                        .acked_packets = 10,
                        .bytes_in_flight = model.bytes_in_flight(),
                        .latest_rtt = milliseconds(50),
                        .min_rtt = milliseconds(50),
                        .smoothed_rtt = milliseconds(50)});
    ASSERT_LE(controller->congestion_window(), window);
  }
}

TEST_P(Controllers, FallToTheMinimumOnPersistentCongestionAndRecover) {
  const auto controller = make(100'000'000);
  LineModel model(*controller, {.rate = 100'000'000, .rtt = milliseconds(20)});
  model.run(seconds(2));
  const std::uint64_t before = controller->congestion_window();
  controller->on_loss({.now = model.now(),
                       .newest_lost_sent_at = model.now() - milliseconds(1),
                       .lost_bytes = model.bytes_in_flight(),
                       .lost_packets = model.bytes_in_flight() / 1200,
                       .persistent_congestion = true});
  if (ignores_loss()) {
    EXPECT_EQ(controller->congestion_window(), before);
  } else {
    EXPECT_EQ(controller->congestion_window(), 2u * 1200);
  }
  model.run(seconds(10));
  const std::uint64_t delivered = model.delivered_bytes();
  model.run(seconds(5));
  EXPECT_GE(model.delivered_bytes() - delivered, bytes_in(100'000'000, seconds(5)) * 9 / 10);
}

TEST_P(Controllers, StayWithinTheConfiguredWindow) {
  const auto controller = make(10'000'000'000, 1200, 1'000'000);
  LineModel model(*controller, {.rate = 10'000'000'000});
  model.run(seconds(5), [&] { ASSERT_LE(controller->congestion_window(), 1'000'000u); });
  EXPECT_LE(make(10'000'000'000, 1200, 1)->congestion_window(), 2u * 1200);
}

TEST_P(Controllers, FollowTheDatagramSize) {
  const auto controller = make(1'000'000);
  for (const std::uint64_t datagram : {8952u, 1200u, 65507u, 576u, 9000u}) {
    controller->on_max_datagram_changed(datagram);
    expect_usable(*controller, datagram);
  }
}

TEST_P(Controllers, NeverAllocateAfterConstruction) {
  const auto controller = make(1'000'000'000);
  LineModel model(*controller, {.loss_interval_bytes = 50'000'000});
  model.run(seconds(1));
  // The model's queue of flights allocates, so play a flight by hand.
  const std::uint64_t before = allocations();
  for (int i = 0; i < 1000; ++i) {
    const Timestamp now = model.now() + milliseconds(i);
    controller->on_sent({.now = now, .bytes = 1200, .bytes_in_flight = 1'000'000});
    controller->on_ack({.now = now,
                        .newest_acked_sent_at = now - milliseconds(50),
                        .acked_bytes = 120'000,
                        .acked_packets = 100,
                        .bytes_in_flight = 880'000,
                        .latest_rtt = milliseconds(50),
                        .min_rtt = milliseconds(50),
                        .smoothed_rtt = milliseconds(50)});
    if (i % 100 == 0) {
      controller->on_loss({.now = now,
                           .newest_lost_sent_at = now - milliseconds(1),
                           .lost_bytes = 1200,
                           .lost_packets = 1});
      controller->on_spurious_loss(now, now - milliseconds(1));
    }
  }
  EXPECT_EQ(allocations(), before);
}

std::uint64_t nonsense(base::Random& random) {
  constexpr std::array<std::uint64_t, 8> kValues{
      0, 1, 2, 1200, 1u << 31, std::uint64_t{1} << 50, std::uint64_t{1} << 63, UINT64_MAX};
  return random.chance(0.8) ? kValues[random.below(kValues.size())] : random.next();
}

Duration nonsense_duration(base::Random& random) {
  return Duration(static_cast<std::int64_t>(nonsense(random)));
}

void handle_nonsense(Controller& controller, base::Random& random) {
  const Timestamp now{nonsense_duration(random)};
  const Timestamp sent{nonsense_duration(random)};
  switch (random.below(5)) {
    case 0:
      controller.on_sent({now, nonsense(random), nonsense(random), nonsense(random)});
      break;
    case 1:
      controller.on_loss(
          {now, sent, nonsense(random), nonsense(random), nonsense(random), random.chance(0.05)});
      break;
    case 2:
      controller.on_spurious_loss(now, sent);
      break;
    case 3:
      controller.on_ack({now, sent, nonsense(random), nonsense(random), nonsense(random),
                         nonsense(random), nonsense(random), nonsense_duration(random),
                         nonsense_duration(random), nonsense_duration(random),
                         random.chance(0.1) ? nonsense(random) : 0, random.chance(0.1)});
      break;
    default:
      // What a zero-RTT path would say, with a plausible clock.
      controller.on_ack({.now = Timestamp{} + seconds(1),
                         .newest_acked_sent_at = Timestamp{} + seconds(1),
                         .acked_bytes = 0});
  }
}

TEST_P(Controllers, SurviveNonsense) {
  base::Random random(7);
  for (int run = 0; run < 300; ++run) {
    const std::uint64_t datagram = nonsense(random);
    const auto controller = find_controller(GetParam())({.max_datagram = datagram,
                                                         .configured_rate = nonsense(random),
                                                         .initial_rtt = nonsense_duration(random),
                                                         .window_max = nonsense(random)});
    for (int event = 0; event < 300; ++event) {
      handle_nonsense(*controller, random);
      if (random.chance(0.01)) controller->on_max_datagram_changed(nonsense(random));
      ASSERT_GE(controller->congestion_window(), 2 * kDatagramFloor);
      ASSERT_LE(controller->congestion_window(), kWindowCeiling);
      ASSERT_GE(controller->pacing_rate(), kRateFloor);
      ASSERT_LE(controller->pacing_rate(), kRateCeiling);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, Controllers, testing::ValuesIn(controller_names()),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace longhaul::congestion
