// SPDX-License-Identifier: Apache-2.0
// What is done to frames, and how packets under way are kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "apps/wan/clocks.hpp"
#include "apps/wan/due_queue.hpp"
#include "apps/wan/frame.hpp"
#include "apps/wan/packet_pool.hpp"
#include "apps/wan/report.hpp"

namespace longhaul::apps::wan {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::initializer_list<unsigned> values) {
  Bytes bytes;
  for (const unsigned value : values) bytes.push_back(std::byte(value));
  return bytes;
}

Bytes ethernet(std::initializer_list<unsigned> rest) {
  Bytes frame(12, std::byte{0x02});
  const Bytes tail = bytes_of(rest);
  frame.insert(frame.end(), tail.begin(), tail.end());
  return frame;
}

/// The header of RFC 1624's kind: version, TOS … checksum, addresses.
Bytes ipv4(unsigned tos) {
  Bytes frame = ethernet({0x08, 0x00, 0x45, tos,  0x00, 0x3c, 0x1c, 0x46, 0x40, 0x00, 0x40,
                          0x11, 0x00, 0x00, 0xac, 0x10, 0x0a, 0x63, 0xac, 0x10, 0x0a, 0x0c});
  return frame;
}

/// Sum over the header as RFC 1071 has it; 0xffff if its checksum is right.
unsigned header_sum(const Bytes& frame) {
  unsigned sum = 0;
  for (std::size_t i = 14; i < 34; i += 2) {
    sum += std::to_integer<unsigned>(frame[i]) << 8 | std::to_integer<unsigned>(frame[i + 1]);
  }
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

void set_checksum(Bytes& frame) {
  frame[24] = frame[25] = std::byte{0};
  const unsigned checksum = ~header_sum(frame) & 0xffff;
  frame[24] = std::byte(checksum >> 8);
  frame[25] = std::byte(checksum & 0xff);
}

TEST(Frame, FindsWhereIpBegins) {
  EXPECT_EQ(ethernet_header_bytes(ethernet({0x08, 0x00, 0x45})), 14u);
  EXPECT_EQ(ethernet_header_bytes(ethernet({0x81, 0x00, 0x00, 0x05, 0x86, 0xdd, 0x60})), 18u);
  EXPECT_EQ(ethernet_header_bytes(ethernet({0x88, 0xa8, 0, 1, 0x81, 0x00, 0, 2, 0x08, 0x00})), 22u);
  EXPECT_EQ(ethernet_header_bytes(ethernet({0x08})), 0u);
  EXPECT_EQ(ethernet_header_bytes(ethernet({0x81, 0x00, 0x00})), 0u);
}

TEST(Frame, MarksIpv4AndKeepsItsChecksum) {
  for (unsigned tos = 0; tos < 256; ++tos) {
    Bytes frame = ipv4(tos);
    set_checksum(frame);
    ASSERT_EQ(header_sum(frame), 0xffffu);
    ASSERT_EQ(is_ecn_capable(frame), (tos & 3) != 0);
    mark_congestion(frame);
    ASSERT_EQ(frame[15], std::byte(tos | 3));
    ASSERT_EQ(header_sum(frame), 0xffffu) << tos;
  }
}

TEST(Frame, MarksIpv6InItsTrafficClassAlone) {
  Bytes frame = ethernet({0x86, 0xdd, 0x6b, 0x8f, 0x12, 0x34});  // class 0xb8, flow label from f
  EXPECT_FALSE(is_ecn_capable(frame));
  frame[15] = std::byte{0xaf};
  EXPECT_TRUE(is_ecn_capable(frame));
  mark_congestion(frame);
  EXPECT_EQ(frame, ethernet({0x86, 0xdd, 0x6b, 0xbf, 0x12, 0x34}));
}

TEST(Frame, LeavesWhatIsNotIpAlone) {
  const Bytes arp = ethernet({0x08, 0x06, 0x00, 0x03, 0x08, 0x00});
  EXPECT_FALSE(is_ecn_capable(arp));
  Bytes marked = arp;
  mark_congestion(marked);
  EXPECT_EQ(marked, arp);
  EXPECT_FALSE(is_ecn_capable(ethernet({0x08, 0x00, 0x45, 0x03})));  // ends too early
}

TEST(Frame, PutsAVlanTagBack) {
  const Bytes frame = ethernet({0x08, 0x00, 0x45, 0x00});
  Bytes tagged(frame.size() + kVlanBytes);
  copy_with_vlan(frame, 0x8100, 0x2005, tagged.data());
  EXPECT_EQ(tagged, ethernet({0x81, 0x00, 0x20, 0x05, 0x08, 0x00, 0x45, 0x00}));
}

TEST(DueQueue, GivesPacketsByTheirMomentAndEqualOnesInOrder) {
  std::mt19937 random(3);
  std::vector<Packet> packets(5000);
  DueQueue queue;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    packets[i].due = Timestamp{} + Duration{static_cast<std::int64_t>(i + random() % 300)};
    packets[i].number = i;
    queue.push(packets[i]);
  }
  std::stable_sort(packets.begin(), packets.end(),
                   [](const Packet& a, const Packet& b) { return a.due < b.due; });
  for (const Packet& expected : packets) {
    ASSERT_EQ(queue.first_due(), expected.due);
    ASSERT_EQ(queue.pop().number, expected.number);
  }
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.first_due(), kNever);
}

TEST(PacketPool, StopsAtItsBoundAndTakesTheLastOneFirst) {
  PacketPool pool(1000, 128'000);
  std::vector<std::byte*> taken;
  while (std::byte* buffer = pool.take()) taken.push_back(buffer);
  EXPECT_EQ(taken.size(), 128u);
  EXPECT_EQ(pool.bytes(), 128'000u);
  std::sort(taken.begin(), taken.end());
  for (std::size_t i = 1; i < taken.size(); ++i) ASSERT_GE(taken[i] - taken[i - 1], 1000);
  pool.give(taken[5]);
  EXPECT_EQ(pool.take(), taken[5]);
  EXPECT_EQ(pool.take(), nullptr);
}

TEST(Clocks, AStampIsAsOldAsTheWallClockSays) {
  const Clocks clocks{Timestamp{} + 100s, 5'000'000'000};
  EXPECT_EQ(clocks.of_stamp(4'999'000'000), Timestamp{} + 100s - 1ms);
  EXPECT_EQ(clocks.of_stamp(5'001'000'000), Timestamp{} + 100s + 1ms) << "it came meanwhile";
  EXPECT_EQ(clocks.of_stamp(6'000'000'000), clocks.now) << "the wall clock was set";
}

TEST(Report, JudgesLatenessByEnoughPackets) {
  Report report;
  report.links.push_back({"a-b", "a", "b", {}});
  EmulatorStats& stats = report.links[0].directions[0].emulator;
  const auto judged = [&](std::uint64_t late, std::uint64_t sent) {
    stats.late_over_1ms = late;
    stats.sent = sent;
    return !reasons_of_bottleneck(report).empty();
  };
  EXPECT_FALSE(judged(1, 5));
  EXPECT_FALSE(judged(19, 99));
  EXPECT_TRUE(judged(20, 99));
  EXPECT_TRUE(judged(2, 100));
  EXPECT_FALSE(judged(1, 100));
  stats.buffer_dropped = 1;
  EXPECT_TRUE(judged(0, 5));
}

TEST(Report, EventsAreALineAndAnEntryEach) {
  Report report;
  report.events = {{2s, "a-b", "both", "down for 2 s"}, {3500ms, "a-b", "", "b is down"}};
  EXPECT_EQ(event_text(report.events[0]), "[    2.0 s] a-b both: down for 2 s\n");
  EXPECT_EQ(event_text(report.events[1]), "[    3.5 s] a-b: b is down\n");
  const std::string text = json_text(report);
  EXPECT_NE(text.find("\"events\": ["), std::string::npos);
  EXPECT_NE(text.find("\"direction\": \"both\""), std::string::npos);
  EXPECT_NE(text.find("\"seconds\": 3.5"), std::string::npos);
}

TEST(Report, NamesTheEmulatorAsTheBottleneckOnlyWhenItIs) {
  Report report;
  report.links.push_back({"a-b", "a", "b", {}});
  EmulatorStats& stats = report.links[0].directions[1].emulator;
  stats.sent = 1000;
  stats.late_over_1ms = 10;  // one percent
  EXPECT_TRUE(reasons_of_bottleneck(report).empty());
  EXPECT_NE(json_text(report).find("\"bottleneck\": \"link\""), std::string::npos);
  stats.late_over_1ms = 11;
  EXPECT_EQ(reasons_of_bottleneck(report).size(), 1u);
  stats.kernel_dropped = 5;
  const auto reasons = reasons_of_bottleneck(report);
  ASSERT_EQ(reasons.size(), 2u);
  EXPECT_NE(reasons[0].find("a-b backward: 5"), std::string::npos) << reasons[0];
  EXPECT_NE(json_text(report).find("\"bottleneck\": \"emulator\""), std::string::npos);
  EXPECT_NE(summary_text(report).find("The emulator, not the link"), std::string::npos);
  EXPECT_TRUE(faults_of_senders(report).empty());
  stats.super_frames = 3;
  ASSERT_EQ(faults_of_senders(report).size(), 1u);
  EXPECT_NE(faults_of_senders(report)[0].find("other end of b"), std::string::npos);
}

}  // namespace
}  // namespace longhaul::apps::wan
