// SPDX-License-Identifier: Apache-2.0
#include "lib/recovery/sent_packets.hpp"

#include <gtest/gtest.h>

namespace longhaul::recovery {
namespace {

SentPacket packet(std::uint32_t size, bool outstanding = true) {
  SentPacket result;
  result.size = size;
  result.outstanding = outstanding;
  return result;
}

TEST(sent_packets, numbers_follow_each_other_from_zero) {
  SentPackets sent(4);
  EXPECT_EQ(sent.next(), 0u);
  sent.append(packet(7));
  sent.append(packet(8));
  EXPECT_EQ(sent.first(), 0u);
  EXPECT_EQ(sent.next(), 2u);
  EXPECT_EQ(sent.find(0)->size, 7u);
  EXPECT_EQ(sent.find(1)->size, 8u);
}

TEST(sent_packets, a_number_never_sent_or_already_forgotten_has_no_record) {
  SentPackets sent(4);
  EXPECT_EQ(sent.find(0), nullptr);
  sent.append(packet(7, false));
  sent.append(packet(8));
  sent.trim();
  EXPECT_EQ(sent.find(0), nullptr);
  EXPECT_NE(sent.find(1), nullptr);
  EXPECT_EQ(sent.find(2), nullptr);
  EXPECT_EQ(sent.find(UINT64_MAX), nullptr);
}

TEST(sent_packets, trim_stops_at_the_first_open_fate) {
  SentPackets sent(8);
  sent.append(packet(0, false));
  sent.append(packet(1));
  sent.append(packet(2, false));
  sent.trim();
  EXPECT_EQ(sent.first(), 1u);
  sent.find(1)->outstanding = false;
  sent.trim();
  EXPECT_EQ(sent.first(), 3u);
  EXPECT_EQ(sent.first(), sent.next());
}

TEST(sent_packets, a_full_ring_whose_oldest_fates_are_open_grows_and_keeps_every_record) {
  SentPackets sent(4);
  for (std::uint32_t i = 0; i < 3; ++i) sent.append(packet(i, false));
  sent.trim();
  for (std::uint32_t i = 3; i < 1000; ++i) sent.append(packet(i));
  EXPECT_EQ(sent.first(), 3u);
  for (std::uint64_t i = 3; i < 1000; ++i) ASSERT_EQ(sent.find(i)->size, i);
}

TEST(sent_packets, a_ring_with_room_at_its_front_wraps_and_does_not_lose_what_is_open) {
  SentPackets sent(4);
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    sent.append(packet(i));
    if (i >= 2) sent.find(i - 2)->outstanding = false;
    ASSERT_LE(sent.next() - sent.first(), 4u);
    ASSERT_EQ(sent.find(i)->size, i);
    if (i > 0) {
      ASSERT_EQ(sent.find(i - 1)->size, i - 1);
    }
  }
}

TEST(sent_packets, a_forgotten_record_is_remembered_until_its_slot_is_taken) {
  SentPackets sent(4);
  for (std::uint32_t i = 0; i < 4; ++i) sent.append(packet(i, i == 3));
  sent.trim();
  EXPECT_EQ(sent.find(1), nullptr);
  ASSERT_NE(sent.remembered(1), nullptr);
  EXPECT_EQ(sent.remembered(1)->size, 1u);
  EXPECT_EQ(sent.remembered(4), nullptr) << "never sent";
  sent.append(packet(4));
  sent.append(packet(5));
  EXPECT_EQ(sent.remembered(1), nullptr) << "its slot was taken";
  EXPECT_EQ(sent.remembered(2)->size, 2u);
  sent.append(packet(6));
  sent.append(packet(7));
  EXPECT_EQ(sent.remembered(3)->size, 3u) << "growth keeps what the ring held";
}

TEST(sent_packets, any_capacity_is_rounded_up_to_what_the_ring_needs) {
  SentPackets sent(3);
  for (std::uint32_t i = 0; i < 100; ++i) sent.append(packet(i));
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_EQ(sent.find(i)->size, i);
}

}  // namespace
}  // namespace longhaul::recovery
