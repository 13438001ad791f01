// SPDX-License-Identifier: Apache-2.0
#include "lib/connection/acknowledger.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace longhaul::connection {
namespace {

using std::chrono::milliseconds;

struct AcknowledgerTest : testing::Test {
  Acknowledger acknowledger;
  Spaces spaces{0, 4096};
  Timestamp now = Timestamp{} + std::chrono::seconds(1);
  std::vector<std::byte> packet = std::vector<std::byte>(1200);
  std::vector<wire::Gap> gaps;

  void arrive(TrafficClass c, std::uint64_t number, bool urgent = true) {
    spaces.receive(c).on_received(now, {number, 1000, {}, true, urgent}, {});
  }
  // Numbers claimed by all ACK frames of one packet, by space.
  std::map<std::uint16_t, std::set<std::uint64_t>> claims(std::size_t room = 1200) {
    const std::size_t size = acknowledger.write_acks(now, spaces, std::span(packet).first(room));
    std::map<std::uint16_t, std::set<std::uint64_t>> result;
    wire::FrameReader reader({packet.data(), size}, gaps);
    while (const auto frame = reader.next()) {
      const auto& ack = std::get<wire::Ack>(*frame);
      std::uint64_t from = ack.floor;
      for (const wire::Gap& gap : ack.gaps) {
        for (; from < gap.first; ++from) result[ack.space].insert(from);
        from = gap.first + gap.length;
      }
      for (; from <= ack.largest; ++from) result[ack.space].insert(from);
    }
    EXPECT_FALSE(reader.failed());
    return result;
  }
};

TEST_F(AcknowledgerTest, says_nothing_until_something_asks) {
  EXPECT_FALSE(acknowledger.due(now, spaces));
  EXPECT_EQ(acknowledger.next_due(spaces), kNever);
  arrive(TrafficClass::bulk, 0, false);
  EXPECT_FALSE(acknowledger.due(now, spaces));
  EXPECT_GT(acknowledger.next_due(spaces), now);
  EXPECT_NE(acknowledger.next_due(spaces), kNever);
}

TEST_F(AcknowledgerTest, several_spaces_share_a_packet) {
  arrive(TrafficClass::critical, 3);
  arrive(TrafficClass::bulk, 5);
  const auto told = claims();
  EXPECT_EQ(told.at(2), std::set<std::uint64_t>{3});
  EXPECT_EQ(told.at(3), std::set<std::uint64_t>{5});
  EXPECT_FALSE(acknowledger.due(now, spaces));
}

TEST_F(AcknowledgerTest, a_report_longer_than_a_packet_goes_on_in_the_next_and_claims_all) {
  std::set<std::uint64_t> received;
  for (std::uint64_t number = 0; number < 2000; number += 3) {
    arrive(TrafficClass::bulk, number);
    received.insert(number);
  }
  arrive(TrafficClass::critical, 0);
  std::set<std::uint64_t> told;
  int packets = 0;
  while (acknowledger.due(now, spaces)) {
    ASSERT_LT(++packets, 100);
    auto said = claims(200);
    for (const std::uint64_t number : said[3]) told.insert(number);
  }
  EXPECT_GT(packets, 3);
  EXPECT_EQ(told, received);
}

TEST_F(AcknowledgerTest, what_finds_no_room_stays_due) {
  arrive(TrafficClass::bulk, 0);
  EXPECT_TRUE(claims(10).empty());
  EXPECT_TRUE(acknowledger.due(now, spaces));
  EXPECT_EQ(claims().at(3), std::set<std::uint64_t>{0});
}

TEST_F(AcknowledgerTest, floors_are_told_some_time_after_their_packets_settled) {
  for (int i = 0; i < 10; ++i) {
    recovery::SentPacket sent;
    sent.sent_at = now;
    sent.outstanding = true;
    spaces.send(TrafficClass::bulk).on_sent(sent);
  }
  wire::Ack ack;
  ack.largest = 9;
  constexpr Duration kRtt = milliseconds(10);
  std::vector<wire::Floor> floors;
  for (int i = 0; i < 10; ++i, now += milliseconds(5)) {
    ASSERT_TRUE(spaces.send(TrafficClass::bulk).on_ack(now, ack, {}, kRtt).valid);
    acknowledger.on_ack_processed(now, TrafficClass::bulk, 9, kRtt);
    const Timestamp due = acknowledger.next_due(spaces);
    ASSERT_LE(due, now + kRtt);
    const std::size_t size = acknowledger.write_floors(std::max(now, due), spaces, kRtt, packet);
    wire::FrameReader reader({packet.data(), size}, gaps);
    while (const auto frame = reader.next()) floors.push_back(std::get<wire::Floor>(*frame));
    EXPECT_EQ(acknowledger.next_due(spaces), kNever);
  }
  ASSERT_EQ(floors.size(), 1u);  // told once
  EXPECT_EQ(floors[0].space, 3);
  EXPECT_EQ(floors[0].floor, 10u);
}

TEST_F(AcknowledgerTest, a_floor_that_shortens_nothing_asks_for_no_packet) {
  acknowledger.on_ack_processed(now, TrafficClass::bulk, 8, milliseconds(10));
  EXPECT_EQ(acknowledger.next_due(spaces), kNever);
  acknowledger.on_ack_processed(now, TrafficClass::bulk, 9, milliseconds(10));
  EXPECT_LE(acknowledger.next_due(spaces), now + milliseconds(10));
}

}  // namespace
}  // namespace longhaul::connection
