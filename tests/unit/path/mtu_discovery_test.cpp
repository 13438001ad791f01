// SPDX-License-Identifier: Apache-2.0
#include "lib/path/mtu_discovery.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "lib/base/random.hpp"

namespace longhaul::path {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr MtuConfig kJumbo{1252, 8972};
constexpr Duration kRtt = milliseconds(50);
constexpr Duration kPto = milliseconds(75);

// A path that carries datagrams up to `mtu`, and an owner that does as MtuDiscovery's contract
// says.
class Path {
 public:
  Path(const MtuConfig& config, std::uint32_t carries, double loss, std::uint64_t seed = 1)
      : discovery(config), mtu(carries), loss_(loss), random_(seed) {}

  bool lost(std::uint32_t size) {
    if (burst_left_ > 0) {
      --burst_left_;
      return true;
    }
    if (burst_ > 0 && random_.chance(burst_)) burst_left_ = 49;
    return random_.chance(loss_) || size > mtu || burst_left_ == 49;
  }
  void set_bursts(double per_packet) { burst_ = per_packet; }

  // Probes only, until nothing is due before `end`.
  void search_until(Timestamp end) {
    while (now < end) {
      if (const auto size = discovery.probe_due(now)) {
        ++probes;
        discovery.on_probe_sent(now, *size, kPto);
        if (!lost(*size)) {
          now += kRtt;
          discovery.on_probe_acked(now, *size);
          continue;
        }
      }
      if (discovery.next_timeout() == kNever) return;
      now = std::min(end, discovery.next_timeout());
      discovery.handle_timeout(now);
    }
  }

  struct Packet {
    std::uint32_t size;
    Timestamp sent;
    bool lost;
  };

  // Ordinary packets back to back, each with a fate known one RTT (acknowledged) or one RTT and a
  // reordering window (lost) later. Sizes alternate as `size_of(i)` says.
  template <typename SizeOf>
  void carry(std::uint64_t packets, Duration spacing, SizeOf&& size_of) {
    for (std::uint64_t i = 0; i < packets; ++i) {
      now += spacing;
      settle();
      const std::uint32_t size = size_of(i);
      if (lost(size)) {
        lost_.push_back({size, now, true});
      } else {
        acked_.push_back({size, now, false});
      }
    }
  }

  MtuDiscovery discovery;
  Timestamp now{};
  std::uint32_t mtu;
  std::uint32_t probes = 0;

 private:
  void settle() {
    const Duration window = microseconds(100);
    for (;;) {
      const bool ack = !acked_.empty() && acked_.front().sent + kRtt <= now;
      const bool loss = !lost_.empty() && lost_.front().sent + kRtt + window <= now;
      if (!ack && !loss) return;
      if (ack && (!loss || acked_.front().sent <= lost_.front().sent + window)) {
        discovery.on_packet_acked(now, acked_.front().size, acked_.front().sent);
        acked_.pop_front();
      } else {
        discovery.on_packet_lost(now, lost_.front().size, lost_.front().sent, kRtt);
        lost_.pop_front();
      }
    }
  }

  double loss_;
  double burst_ = 0;
  std::uint32_t burst_left_ = 0;
  base::Random random_;
  std::deque<Packet> acked_;
  std::deque<Packet> lost_;
};

// Large packets with a small one (an ACK, a floor, a ping) now and then.
auto mostly_large(const MtuDiscovery& discovery) {
  return [&discovery](std::uint64_t i) {
    if (i % 10 == 9) return std::uint32_t{60};
    if (i % 97 == 3) return 1300 + static_cast<std::uint32_t>(i % 5000);
    return discovery.max_datagram();
  };
}

TEST(MtuDiscovery, StartsAtBaseAndProbesTheMaximumFirst) {
  MtuDiscovery discovery(kJumbo);
  EXPECT_EQ(discovery.max_datagram(), 1252u);
  EXPECT_FALSE(discovery.take_changed());
  EXPECT_EQ(discovery.probe_due(Timestamp{}), 8972u);
  EXPECT_EQ(discovery.next_timeout(), kNever);
}

TEST(MtuDiscovery, OneAcknowledgedProbeOfTheMaximumEndsTheSearch) {
  Path path(kJumbo, 8972, 0);
  path.search_until(Timestamp{} + seconds(3600));
  EXPECT_EQ(path.discovery.max_datagram(), 8972u);
  EXPECT_EQ(path.probes, 1u);
  EXPECT_EQ(path.now, Timestamp{} + kRtt);
  EXPECT_TRUE(path.discovery.take_changed());
  EXPECT_FALSE(path.discovery.take_changed());
}

TEST(MtuDiscovery, OneProbeIsInFlightAtATime) {
  MtuDiscovery discovery(kJumbo);
  discovery.on_probe_sent(Timestamp{}, 8972, kPto);
  EXPECT_EQ(discovery.probe_due(Timestamp{} + milliseconds(10)), std::nullopt);
  EXPECT_EQ(discovery.next_timeout(), Timestamp{} + kPto);
}

TEST(MtuDiscovery, GivesASizeUpOnlyAfterThreeLostProbes) {
  MtuDiscovery discovery(kJumbo);
  Timestamp now{};
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(discovery.probe_due(now), 8972u) << i;
    discovery.on_probe_sent(now, 8972, kPto);
    now += kPto;
    discovery.handle_timeout(now);
  }
  EXPECT_EQ(discovery.probe_due(now), 1472u);
}

TEST(MtuDiscovery, AnEarlyReportOfALostProbeCountsOnce) {
  MtuDiscovery discovery(kJumbo);
  discovery.on_probe_sent(Timestamp{}, 8972, kPto);
  discovery.on_probe_lost(Timestamp{} + milliseconds(60), 8972);
  discovery.on_probe_lost(Timestamp{} + milliseconds(61), 8972);
  discovery.on_probe_lost(Timestamp{} + milliseconds(62), 8972);
  EXPECT_EQ(discovery.next_timeout(), kNever);
  EXPECT_EQ(discovery.probe_due(Timestamp{} + milliseconds(62)), 8972u);
}

TEST(MtuDiscovery, ALateAcknowledgementOfASizeGivenUpStillCounts) {
  MtuDiscovery discovery(kJumbo);
  Timestamp now{};
  for (int i = 0; i < 3; ++i) {
    discovery.on_probe_sent(now, 8972, kPto);
    now += kPto;
    discovery.handle_timeout(now);
  }
  discovery.on_probe_acked(now, 8972);
  EXPECT_EQ(discovery.max_datagram(), 8972u);
  EXPECT_EQ(discovery.probe_due(now), std::nullopt);
}

TEST(MtuDiscovery, AnAcknowledgementOfASizeNeverProbedIsIgnored) {
  MtuDiscovery discovery(kJumbo);
  discovery.on_probe_acked(Timestamp{}, 8972);
  discovery.on_probe_acked(Timestamp{}, 0);
  EXPECT_EQ(discovery.max_datagram(), 1252u);
}

TEST(MtuDiscovery, NothingIsProbedWhenBaseIsTheMaximum) {
  MtuDiscovery discovery({1252, 1252});
  EXPECT_EQ(discovery.probe_due(Timestamp{}), std::nullopt);
  EXPECT_EQ(discovery.next_timeout(), kNever);
}

TEST(MtuDiscovery, AMaximumJustAboveBaseIsStillProbed) {
  Path path({1252, 1260}, 1260, 0);
  path.search_until(Timestamp{} + seconds(1));
  EXPECT_EQ(path.discovery.max_datagram(), 1260u);
}

TEST(MtuDiscovery, FindsEveryMtuWithinSixteenBytesUnderOnePercentLoss) {
  for (std::uint32_t mtu = kJumbo.base; mtu <= kJumbo.max; ++mtu) {
    Path path(kJumbo, mtu, 0.01, mtu);
    path.search_until(Timestamp{} + milliseconds(4990));
    ASSERT_LE(path.discovery.max_datagram(), mtu);
    ASSERT_GT(path.discovery.max_datagram() + 16, mtu) << "after " << path.probes << " probes";
  }
}

TEST(MtuDiscovery, AnInterfaceThatRefusesASizeEndsItAtOnce) {
  MtuDiscovery discovery(kJumbo);
  discovery.on_probe_sent(Timestamp{}, 8972, kPto);
  discovery.on_too_big_locally(Timestamp{}, 8972);
  EXPECT_EQ(discovery.probe_due(Timestamp{}), 1472u);
  discovery.on_probe_sent(Timestamp{}, 1472, kPto);
  discovery.on_probe_acked(Timestamp{} + kRtt, 1472);
  EXPECT_EQ(discovery.max_datagram(), 1472u);
}

TEST(MtuDiscovery, AnInterfaceThatRefusesTheSizeInUseMakesItFallToBase) {
  Path path(kJumbo, 8972, 0);
  path.search_until(Timestamp{} + seconds(1));
  path.discovery.on_too_big_locally(path.now, 8972);
  EXPECT_EQ(path.discovery.max_datagram(), 1252u);
  EXPECT_EQ(path.discovery.black_holes(), 0u);
  path.mtu = 1472;
  path.search_until(path.now + seconds(3));
  EXPECT_EQ(path.discovery.max_datagram(), 1472u);
}

TEST(MtuDiscovery, APeerThatTakesLessLowersTheMaximumAtOnce) {
  Path path(kJumbo, 8972, 0);
  path.search_until(Timestamp{} + seconds(1));
  path.discovery.set_max(4000);
  EXPECT_EQ(path.discovery.max_datagram(), 4000u);
  EXPECT_TRUE(path.discovery.take_changed());
  path.discovery.set_max(9000);
  EXPECT_EQ(path.discovery.max_datagram(), 4000u);
  EXPECT_EQ(path.discovery.probe_due(path.now), std::nullopt);
}

TEST(MtuDiscovery, APeersLowerMaximumBoundsTheSearchUnderWay) {
  Path path(kJumbo, 8972, 0);
  ASSERT_EQ(path.discovery.probe_due(path.now), 8972u);
  path.discovery.set_max(3000);
  path.search_until(Timestamp{} + seconds(5));
  EXPECT_EQ(path.discovery.max_datagram(), 3000u);
}

TEST(MtuDiscovery, APathThatGrowsIsNoticedWithinSixSeconds) {
  Path path(kJumbo, 1252, 0);
  path.search_until(Timestamp{} + seconds(4));
  ASSERT_EQ(path.discovery.max_datagram(), 1252u);
  path.mtu = 8972;
  path.search_until(Timestamp{} + seconds(8));
  EXPECT_EQ(path.discovery.max_datagram(), 8972u);
}

TEST(MtuDiscovery, APathThatGrowsALittleIsSearchedAgain) {
  Path path(kJumbo, 1400, 0);
  path.search_until(Timestamp{} + seconds(4));
  path.mtu = 4321;
  path.search_until(Timestamp{} + seconds(14));
  EXPECT_LE(path.discovery.max_datagram(), 4321u);
  EXPECT_GT(path.discovery.max_datagram() + 16, 4321u);
}

TEST(MtuDiscovery, AnUnchangedPathCostsFewProbes) {
  Path path(kJumbo, 1472, 0);
  path.search_until(Timestamp{} + seconds(4));
  const std::uint32_t first = path.probes;
  path.search_until(Timestamp{} + seconds(3600));
  EXPECT_GE(path.probes, first + 6);
  EXPECT_LE(path.probes, first + 6 * 12);
}

struct Noise {
  double loss;
  double bursts;
  std::uint64_t seed;
};
class UnderNoise : public testing::TestWithParam<Noise> {};

TEST_P(UnderNoise, AMillionPacketsNeverLookLikeABlackHole) {
  Path path(kJumbo, 8972, GetParam().loss, GetParam().seed);
  path.search_until(Timestamp{} + seconds(4));
  ASSERT_EQ(path.discovery.max_datagram(), 8972u);
  path.set_bursts(GetParam().bursts);
  path.carry(1'000'000, microseconds(8), mostly_large(path.discovery));
  EXPECT_EQ(path.discovery.black_holes(), 0u);
  EXPECT_EQ(path.discovery.max_datagram(), 8972u);
}

TEST_P(UnderNoise, ASlowSenderIsNotFooledEither) {
  Path path(kJumbo, 8972, GetParam().loss, GetParam().seed);
  path.search_until(Timestamp{} + seconds(4));
  path.set_bursts(GetParam().bursts);
  // 50 ms RTT, a packet every 5 ms: a burst of 50 lasts five RTTs.
  path.carry(100'000, milliseconds(5), mostly_large(path.discovery));
  EXPECT_EQ(path.discovery.black_holes(), 0u);
}

TEST_P(UnderNoise, ARealBlackHoleIsFoundWithinFourRoundTrips) {
  Path path(kJumbo, 8972, GetParam().loss, GetParam().seed);
  path.search_until(Timestamp{} + seconds(4));
  path.set_bursts(GetParam().bursts);
  path.carry(20'000, microseconds(8), mostly_large(path.discovery));
  ASSERT_EQ(path.discovery.black_holes(), 0u);
  path.mtu = 1372;
  const Timestamp from = path.now;
  while (path.discovery.black_holes() == 0 && path.now < from + seconds(5)) {
    path.carry(100, microseconds(8), mostly_large(path.discovery));
  }
  EXPECT_LE((path.now - from).count(), (4 * kRtt).count());
  EXPECT_EQ(path.discovery.max_datagram(), 1252u);
  path.set_bursts(0);
  path.search_until(path.now + seconds(4));
  EXPECT_LE(path.discovery.max_datagram(), 1372u);
  EXPECT_GT(path.discovery.max_datagram() + 16, 1372u);
}

INSTANTIATE_TEST_SUITE_P(Losses, UnderNoise,
                         testing::Values(Noise{0, 0, 1}, Noise{0.01, 0, 2}, Noise{0.05, 0, 3},
                                         Noise{0.001, 0.001, 4}, Noise{0.01, 0.0005, 5}));

TEST(MtuDiscovery, MiddlingPacketsThatPassDoNotHideABlackHole) {
  Path path(kJumbo, 8972, 0.01);
  path.search_until(Timestamp{} + seconds(4));
  const auto mixed = [&](std::uint64_t i) {
    if (i % 10 == 0) return std::uint32_t{60};
    return i % 2 == 0 ? path.discovery.max_datagram() : 1300 + static_cast<std::uint32_t>(i % 64);
  };
  path.mtu = 1372;
  path.carry(30'000, microseconds(8), mixed);
  EXPECT_EQ(path.discovery.black_holes(), 1u);
}

TEST(MtuDiscovery, ABlackHoleThatStallsTheSenderIsFoundByTheProbesOfTheStall) {
  Path path(kJumbo, 8972, 0);
  path.search_until(Timestamp{} + seconds(4));
  path.carry(20'000, microseconds(8), mostly_large(path.discovery));
  path.mtu = 1372;
  for (int round = 0; round < 4; ++round) {
    path.carry(20, microseconds(8), [](std::uint64_t) { return std::uint32_t{8972}; });
    path.carry(1, 2 * kRtt, [](std::uint64_t) { return std::uint32_t{60}; });
  }
  EXPECT_EQ(path.discovery.black_holes(), 1u);
}

TEST(MtuDiscovery, APathThatLosesEverythingIsNotABlackHole) {
  Path path(kJumbo, 8972, 0);
  path.search_until(Timestamp{} + seconds(4));
  path.mtu = 0;
  path.carry(100'000, microseconds(100), mostly_large(path.discovery));
  EXPECT_EQ(path.discovery.black_holes(), 0u);
}

TEST(MtuDiscovery, AnOutageIsNotABlackHoleEvenIfASmallPacketReturnsFirst) {
  Path path(kJumbo, 8972, 0);
  path.search_until(Timestamp{} + seconds(4));
  path.carry(20'000, microseconds(8), mostly_large(path.discovery));
  path.mtu = 0;
  path.carry(60'000, microseconds(8), mostly_large(path.discovery));
  path.carry(10, milliseconds(250), [](std::uint64_t) { return std::uint32_t{60}; });
  path.mtu = 8972;
  path.carry(3, milliseconds(1), [](std::uint64_t) { return std::uint32_t{60}; });
  path.carry(20'000, microseconds(8), mostly_large(path.discovery));
  EXPECT_EQ(path.discovery.black_holes(), 0u);
  EXPECT_EQ(path.discovery.max_datagram(), 8972u);
}

TEST(MtuDiscovery, AFlappingLineIsNotABlackHole) {
  Path path(kJumbo, 8972, 0);
  path.search_until(Timestamp{} + seconds(4));
  const auto small = [](std::uint64_t) { return std::uint32_t{60}; };
  for (int flap = 0; flap < 20; ++flap) {
    // The line comes back for one small packet and goes again before a large one passes.
    path.mtu = 0;
    path.carry(2'000, microseconds(8), mostly_large(path.discovery));
    path.carry(5, milliseconds(60), small);
    path.mtu = 8972;
    path.carry(1, milliseconds(60), small);
  }
  EXPECT_EQ(path.discovery.black_holes(), 0u);
}

TEST(MtuDiscovery, SmallPacketsLostAreNoEvidence) {
  MtuDiscovery discovery(kJumbo);
  Timestamp now{};
  for (int i = 0; i < 1000; ++i) {
    now += milliseconds(1);
    discovery.on_packet_lost(now + kRtt, 1252, now, kRtt);
    discovery.on_packet_acked(now + kRtt, 60, now);
  }
  EXPECT_EQ(discovery.black_holes(), 0u);
}

TEST(MtuDiscovery, AFlappingPathIsRaisedEverMoreRarely) {
  Path path(kJumbo, 8972, 0);
  std::vector<Duration> at_maximum_after;
  for (int i = 0; i < 5; ++i) {
    const Timestamp fell = path.now;
    while (path.discovery.max_datagram() < 8972 && path.now < fell + seconds(600)) {
      path.search_until(path.now + milliseconds(100));
    }
    at_maximum_after.push_back(path.now - fell);
    path.discovery.on_too_big_locally(path.now, 8972);
  }
  for (std::size_t i = 2; i < at_maximum_after.size(); ++i) {
    EXPECT_GT(at_maximum_after[i], at_maximum_after[i - 1] + seconds(4)) << i;
  }
}

}  // namespace
}  // namespace longhaul::path
