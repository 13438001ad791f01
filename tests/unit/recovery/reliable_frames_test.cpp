// SPDX-License-Identifier: Apache-2.0
#include "lib/recovery/reliable_frames.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/base/random.hpp"

namespace longhaul::recovery {
namespace {

using std::chrono::milliseconds;

constexpr RepeatTiming kTiming{milliseconds(2), milliseconds(50), milliseconds(250)};

Timestamp at(Duration since) {
  return Timestamp{} + since;
}

wire::Frame frame(std::uint64_t n) {
  return wire::AllSent{1, n};
}

struct ReliableFramesTest : testing::Test {
  ReliableFrames frames;
  std::array<std::byte, 1200> packet{};
  std::vector<wire::Gap> gaps;
  std::uint32_t carrier = 0;

  // The n of each frame written.
  std::vector<std::uint64_t> write(Duration now, std::size_t room = 1200) {
    const auto out = std::span(packet).first(room);
    const std::size_t size = frames.write_due(at(now), out, kTiming, carrier);
    std::vector<std::uint64_t> result;
    wire::FrameReader reader(out.first(size), gaps);
    while (const auto each = reader.next()) result.push_back(std::get<wire::AllSent>(*each).n);
    EXPECT_FALSE(reader.failed());
    return result;
  }
};

using Numbers = std::vector<std::uint64_t>;

TEST_F(ReliableFramesTest, nothing_pending_is_never_due) {
  EXPECT_EQ(frames.next_due(), kNever);
  EXPECT_TRUE(write({}).empty());
}

TEST_F(ReliableFramesTest, frames_leave_at_once_and_in_order) {
  for (std::uint64_t n = 0; n < 5; ++n) frames.push(at({}), frame(n));
  EXPECT_EQ(frames.next_due(), at({}));
  EXPECT_EQ(write({}), (Numbers{0, 1, 2, 3, 4}));
  EXPECT_TRUE(write({}).empty());
  EXPECT_EQ(frames.pending(), 5u);
}

TEST_F(ReliableFramesTest, the_second_copy_comes_early_and_the_others_ever_later) {
  frames.push(at({}), frame(0));
  Duration now{};
  std::vector<Duration> waits;
  for (int i = 0; i < 7; ++i) {
    ASSERT_EQ(write(now), Numbers{0});
    const Duration due = frames.next_due() - at({});
    waits.push_back(due - now);
    now = due;
  }
  EXPECT_EQ(waits, (std::vector<Duration>{milliseconds(2), milliseconds(50), milliseconds(100),
                                          milliseconds(200), milliseconds(250), milliseconds(250),
                                          milliseconds(250)}));
}

TEST_F(ReliableFramesTest, what_a_packet_carried_ends_with_its_acknowledgement) {
  frames.push(at({}), frame(0));
  write({});
  frames.push(at({}), frame(1));
  const std::uint32_t first = carrier;
  write({});
  frames.on_carrier_acked(first);
  EXPECT_EQ(frames.pending(), 1u);
  EXPECT_EQ(write(milliseconds(2)), Numbers{1});
}

TEST_F(ReliableFramesTest, any_copy_may_be_the_one_that_arrives) {
  frames.push(at({}), frame(0));
  write({});
  const std::uint32_t first = carrier;
  write(milliseconds(2));
  const std::uint32_t second = carrier;
  frames.on_carrier_acked(first);
  EXPECT_EQ(frames.pending(), 0u);
  EXPECT_EQ(frames.next_due(), kNever);
  frames.on_carrier_lost(at(milliseconds(60)), second);
  EXPECT_EQ(frames.next_due(), kNever);
  EXPECT_TRUE(write(std::chrono::seconds(10)).empty());
}

TEST_F(ReliableFramesTest, a_lost_packet_makes_its_frames_due_at_once) {
  frames.push(at({}), frame(0));
  write({});
  write(milliseconds(2));
  frames.on_carrier_lost(at(milliseconds(10)), carrier);
  EXPECT_EQ(frames.next_due(), at(milliseconds(10)));
  EXPECT_EQ(write(milliseconds(10)), Numbers{0});
  EXPECT_TRUE(write(milliseconds(10)).empty());
}

TEST_F(ReliableFramesTest, a_lost_packet_asks_for_nothing_while_a_later_copy_is_under_way) {
  frames.push(at({}), frame(0));
  write({});
  const std::uint32_t first = carrier;
  write(milliseconds(2));
  frames.on_carrier_lost(at(milliseconds(10)), first);
  EXPECT_EQ(frames.next_due(), at(milliseconds(52)));
}

TEST_F(ReliableFramesTest, the_fate_of_an_old_packet_says_nothing_about_a_frame_in_the_same_place) {
  frames.push(at({}), frame(0));
  write({});
  const std::uint32_t first = carrier;
  write(milliseconds(2));
  const std::uint32_t second = carrier;
  frames.on_carrier_acked(first);
  frames.push(at(milliseconds(3)), frame(1));  // takes the entry that was freed
  write(milliseconds(3));
  frames.on_carrier_acked(second);
  EXPECT_EQ(frames.pending(), 1u);
  EXPECT_EQ(write(milliseconds(5)), Numbers{1});
}

TEST_F(ReliableFramesTest, what_does_not_fit_stays_due) {
  for (std::uint64_t n = 0; n < 10; ++n) frames.push(at({}), frame(n));
  const std::size_t size = wire::write_frame(frame(0), packet);
  EXPECT_EQ(write({}, 4 * size + 3), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(frames.next_due(), at({}));
  EXPECT_TRUE(write({}, size - 1).empty());
  EXPECT_EQ(write({}), (Numbers{4, 5, 6, 7, 8, 9}));
}

TEST_F(ReliableFramesTest, the_longest_frame_there_is_gets_through) {
  const std::string reason(wire::kReasonBytesMax, 'x');
  frames.push(at({}), wire::ReceiveEnd{UINT64_MAX, wire::kPacketNumberMax, Status::refused,
                                       wire::kPacketNumberMax, reason});
  wire::Transfer transfer;
  transfer.n = transfer.loss_budget = transfer.count = wire::kPacketNumberMax;
  transfer.bytes = std::uint64_t{1} << 46;
  std::array<std::uint64_t, kDimensionsMax> extents{};
  extents.fill(UINT64_MAX);
  transfer.shape = *Shape::from(extents);
  frames.push(at({}), transfer);
  EXPECT_EQ(frames.pending(), 2u);
  std::uint32_t ignored = 0;
  const std::size_t size = frames.write_due(at({}), packet, kTiming, ignored);
  wire::FrameReader reader({packet.data(), size}, gaps);
  const auto first = reader.next();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(std::get<wire::ReceiveEnd>(*first).reason.size(), reason.size());
  const auto second = reader.next();
  ASSERT_TRUE(second.has_value());
  EXPECT_TRUE(std::holds_alternative<wire::Transfer>(*second));
}

// Packets are lost, and their fates learned late, out of order or never.
void run(std::uint64_t seed) {
  base::Random random(seed);
  ReliableFrames frames;
  std::array<std::byte, 200> packet{};
  std::vector<wire::Gap> gaps;
  std::multimap<Duration, std::pair<std::uint32_t, bool>> fates;
  std::set<std::uint64_t> arrived;
  std::uint64_t pushed = 0;
  const double loss = 0.1 * static_cast<double>(random.below(8));
  Duration now{};
  for (; pushed < 500 || frames.pending() > 0; now += milliseconds(1)) {
    ASSERT_LT(now, std::chrono::minutes(5)) << frames.pending() << " frames never ended";
    if (pushed < 500 && random.below(2) == 0) frames.push(at(now), frame(pushed++));
    std::uint32_t carrier = 0;
    while (const std::size_t size = frames.write_due(at(now), packet, kTiming, carrier)) {
      const bool lost = random.chance(loss);
      wire::FrameReader reader({packet.data(), size}, gaps);
      while (const auto each = reader.next())
        if (!lost) arrived.insert(std::get<wire::AllSent>(*each).n);
      fates.insert({now + milliseconds(20 + random.below(60)), {carrier, lost}});
    }
    while (!fates.empty() && fates.begin()->first <= now) {
      const auto [name, lost] = fates.begin()->second;
      fates.erase(fates.begin());
      if (!lost)
        frames.on_carrier_acked(name);
      else
        frames.on_carrier_lost(at(now), name);
    }
  }
  ASSERT_EQ(arrived.size(), 500u);
}

TEST(reliable_frames_property, no_frame_vanishes_and_every_frame_ends) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    run(seed);
    if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace longhaul::recovery
