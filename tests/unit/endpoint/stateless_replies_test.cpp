// SPDX-License-Identifier: Apache-2.0
#include "lib/endpoint/stateless_replies.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace longhaul::endpoint {
namespace {

using Kind = StatelessReplies::Kind;

struct StatelessRepliesTest : testing::Test {
  StatelessReplies replies;
  Timestamp now = Timestamp{} + std::chrono::hours(1);
  std::vector<std::byte> bytes = std::vector<std::byte>(50, std::byte{7});
  std::vector<std::byte> head = std::vector<std::byte>(200);

  int push_many(int count) {
    int pushed = 0;
    for (int i = 0; i < count; ++i) {
      pushed += replies.push(now, Kind::retry, {}, bytes) ? 1 : 0;
      empty();
    }
    return pushed;
  }
  void empty() {
    base::TxDatagram slot;
    slot.head = head;
    while (!replies.empty()) replies.pop_into(now, slot, 0);
  }
};

TEST_F(StatelessRepliesTest, a_reply_goes_to_who_asked_unmarked_for_ecn) {
  const SocketAddress to = *SocketAddress::parse("192.0.2.1", 5000);
  EXPECT_TRUE(replies.empty());
  ASSERT_TRUE(replies.push(now, Kind::retry, to, bytes));
  base::TxDatagram slot;
  slot.head = head;
  replies.pop_into(now, slot, 48);
  EXPECT_EQ(slot.remote, to);
  EXPECT_EQ(slot.size(), 50u);
  EXPECT_EQ(slot.head[49], std::byte{7});
  EXPECT_EQ(slot.dscp, 48);
  EXPECT_EQ(slot.ecn, base::Ecn::not_ect);
  EXPECT_TRUE(replies.empty());
}

TEST_F(StatelessRepliesTest, a_flood_is_answered_with_a_ration) {
  const int at_once = push_many(100'000);
  EXPECT_GT(at_once, 500);
  EXPECT_LT(at_once, 5000);
  EXPECT_EQ(push_many(1000), 0);
}

TEST_F(StatelessRepliesTest, the_ration_comes_back_with_time_and_does_not_pile_up) {
  push_many(100'000);
  now += std::chrono::milliseconds(10);
  const int later = push_many(100'000);
  EXPECT_GT(later, 100);
  EXPECT_LT(later, 300);
  now += std::chrono::hours(24);
  EXPECT_LT(push_many(100'000), 5000);
}

// A flood of nonsense to unknown connections must not keep clients from being let in.
TEST_F(StatelessRepliesTest, a_flood_that_wants_resets_takes_no_retry_from_anybody) {
  while (replies.push(now, Kind::reset, {}, bytes)) empty();
  EXPECT_FALSE(replies.may_push(now, Kind::reset));
  EXPECT_TRUE(replies.may_push(now, Kind::retry));
  EXPECT_TRUE(replies.may_push(now, Kind::other));
  EXPECT_GT(push_many(100'000), 500);
}

TEST_F(StatelessRepliesTest, a_steady_trickle_is_always_answered) {
  push_many(100'000);
  int answered = 0;
  for (int i = 0; i < 1000; ++i) {
    now += std::chrono::microseconds(99);
    answered += push_many(1);
  }
  EXPECT_EQ(answered, 1000);
}

TEST_F(StatelessRepliesTest, replies_that_cannot_leave_are_bounded) {
  int queued = 0;
  for (int i = 0; i < 100'000; ++i) {
    now += std::chrono::milliseconds(1);
    queued += replies.push(now, Kind::retry, {}, bytes) ? 1 : 0;
  }
  EXPECT_LE(queued, 2000);
}

TEST_F(StatelessRepliesTest, what_is_too_long_for_a_reply_is_not_one) {
  EXPECT_FALSE(replies.push(now, Kind::retry, {},
                            std::vector<std::byte>(StatelessReplies::kReplyBytesMax + 1)));
  EXPECT_TRUE(replies.empty());
}

}  // namespace
}  // namespace longhaul::endpoint
