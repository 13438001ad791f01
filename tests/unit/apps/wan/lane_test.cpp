// SPDX-License-Identifier: Apache-2.0
// One direction at work between two ports that are no interfaces.
#include "apps/wan/lane.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "apps/wan/interface_watch.hpp"

namespace longhaul::apps::wan {
namespace {

using namespace std::chrono_literals;

/// Gives frames of one size, and does to what leaves as it is told.
class FakePort : public Port {
 public:
  FakePort() : Port("w1", 1500) {}

  std::size_t receive(const Clocks& clocks, std::span<ReceivedFrame> frames) override {
    const std::size_t count = std::min(frames.size(), waiting);
    for (std::size_t i = 0; i < count; ++i)
      frames[i] = {frame_, frame_.size(), clocks.now, 0, 0, false};
    waiting -= count;
    return count;
  }
  void send(std::span<const std::span<const std::byte>> frames,
            std::span<SendFate> fates) override {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      fates[i] = fates_to_give.empty() ? SendFate::taken : fates_to_give.front();
      if (!fates_to_give.empty()) fates_to_give.pop_front();
    }
  }
  std::uint64_t kernel_dropped() override { return 0; }
  int fd() const noexcept override { return -1; }
  Result<InterfaceState> look() override { return InterfaceState::up; }

  std::size_t waiting = 0;
  std::deque<SendFate> fates_to_give;

 private:
  std::vector<std::byte> frame_ = std::vector<std::byte>(100);
};

TEST(Lane, CountsAsSentOnlyWhatTheInterfaceTook) {
  FakePort from;
  FakePort to;
  PacketPool pool(2000, 1 << 20);
  DirectionPlan plan;
  plan.stages.push_back({});
  const Timestamp start = Timestamp{} + 1s;
  Lane lane(plan, 1, start, from, to, pool);
  from.waiting = 4;
  ASSERT_EQ(lane.receive({start, 0}), 4u);
  using enum SendFate;
  to.fates_to_give = {refused, taken, interface_down, refused};
  EXPECT_EQ(lane.deliver(start + 5ms), 4u);
  const EmulatorStats stats = lane.stats().emulator;
  EXPECT_EQ(stats.sent, 1u);
  EXPECT_EQ(stats.sent_bytes, 100u);
  EXPECT_EQ(stats.send_failed, 2u);
  EXPECT_EQ(stats.interface_down, 1u);
  EXPECT_EQ(stats.late_over_1ms, 1u);
}

TEST(InterfaceWatch, SaysEachChangeOnce) {
  InterfaceWatch watch;
  using enum InterfaceState;
  EXPECT_EQ(watch.changed("w1", up, Timestamp{} + 1s), "");
  EXPECT_EQ(watch.changed("w1", down, Timestamp{} + 2s), "w1 is down");
  EXPECT_EQ(watch.changed("w1", down, Timestamp{} + 3s), "");
  EXPECT_EQ(watch.changed("w1", up, Timestamp{} + 4s), "w1 is up again");
}

TEST(InterfaceWatch, WaitsForACarrier) {
  InterfaceWatch watch;
  using enum InterfaceState;
  EXPECT_EQ(watch.changed("w1", no_carrier, Timestamp{} + 1s), "");
  EXPECT_EQ(watch.changed("w1", up, Timestamp{} + 2s), "");
  EXPECT_EQ(watch.changed("w1", no_carrier, Timestamp{} + 3s), "");
  EXPECT_NE(watch.changed("w1", no_carrier, Timestamp{} + 5s).find("no carrier"),
            std::string::npos);
}

}  // namespace
}  // namespace longhaul::apps::wan
