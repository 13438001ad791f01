// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/transfer/pair.hpp"

namespace longhaul::transfer {
namespace {

constexpr TransferLimits kNoEager{.transfers_max = 32768};
constexpr TransferLimits kEager{.transfers_max = 32768, .eager_budget = 10'000, .eager_max = 4000};

struct MatchingTest : testing::Test {
  void use(const TransferLimits& a, const TransferLimits& b) {
    pair = std::make_unique<Pair>(a, b);
  }
  void send(TransferId id, Tag tag, std::size_t bytes, const SendOptions& options = {}) {
    auto& source = sources[id] = random_bytes(bytes, id);
    pair->a.senders.start(pair->now, send_request(source, tag, id, options));
  }
  void receive(TransferId id, Tag tag, std::size_t bytes, const ReceiveOptions& options = {}) {
    auto& target = targets[id] = std::vector<std::byte>(bytes);
    pair->b.receivers.start(pair->now, receive_request(target, tag, id, options));
  }
  void settle() { pair->settle(); }
  Status sent(TransferId id) { return pair->a.status(id); }
  Status received(TransferId id) { return pair->b.status(id); }

  std::unique_ptr<Pair> pair = std::make_unique<Pair>(kNoEager, kNoEager);
  std::map<TransferId, std::vector<std::byte>> sources;
  std::map<TransferId, std::vector<std::byte>> targets;
};

TEST_F(MatchingTest, a_send_meets_its_receive_and_both_ends_complete) {
  receive(1, 7, 5000);
  send(1, 7, 5000);
  settle();
  EXPECT_EQ(sent(1), Status::completed);
  EXPECT_EQ(received(1), Status::completed);
  EXPECT_EQ(targets[1], sources[1]);
  EXPECT_EQ(pair->a.senders.outstanding(), 0u);
  EXPECT_EQ(pair->b.receivers.outstanding(), 0u);
}

TEST_F(MatchingTest, a_send_without_a_receive_waits_and_starts_when_it_is_posted) {
  send(1, 7, 5000);
  settle();
  EXPECT_EQ(sent(1), Status::pending);
  EXPECT_TRUE(pair->a.senders.waits_for_receiver());
  EXPECT_EQ(pair->a.senders.bytes_left_once(), 0u);
  receive(1, 7, 5000);
  settle();
  EXPECT_EQ(sent(1), Status::completed);
  EXPECT_FALSE(pair->a.senders.waits_for_receiver());
}

TEST_F(MatchingTest, a_send_whose_receive_is_advertised_starts_without_asking) {
  receive(1, 7, 1000);
  pair->frames(pair->b, pair->a);
  send(1, 7, 1000);
  EXPECT_TRUE(pair->a.senders.has_work(TrafficClass::bulk));
}

TEST_F(MatchingTest, the_nth_send_of_a_tag_meets_the_nth_receive) {
  for (TransferId id = 1; id <= 20; ++id) send(id, id % 3, 100 + id);
  std::map<Tag, std::vector<TransferId>> sends;
  for (TransferId id = 1; id <= 20; ++id) sends[id % 3].push_back(id);
  std::map<Tag, std::size_t> posted;
  for (TransferId id = 101; id <= 130; ++id) {
    const Tag tag = (id + 1) % 3;
    if (posted[tag] == sends[tag].size()) continue;
    receive(id, tag, 100 + sends[tag][posted[tag]++]);
  }
  settle();
  for (TransferId id = 1; id <= 20; ++id) EXPECT_EQ(sent(id), Status::completed) << id;
  posted.clear();
  for (const auto& [id, target] : targets) {
    const Tag tag = (id + 1) % 3;
    EXPECT_EQ(received(id), Status::completed);
    EXPECT_EQ(target, sources[sends[tag][posted[tag]++]]);
  }
}

TEST_F(MatchingTest, an_empty_tensor_completes_at_both_ends) {
  send(1, 7, 0);
  receive(1, 7, 0);
  settle();
  EXPECT_EQ(sent(1), Status::completed);
  EXPECT_EQ(received(1), Status::completed);
}

TEST_F(MatchingTest, many_unmatched_sends_received_in_reverse_order_all_complete) {
  constexpr TransferId kMany = 10'000;
  for (TransferId id = 1; id <= kMany; ++id) send(id, id, 10);
  settle();
  for (TransferId id = kMany; id >= 1; --id) receive(id, id, 10);
  settle();
  for (TransferId id = 1; id <= kMany; ++id) {
    ASSERT_EQ(sent(id), Status::completed);
    ASSERT_EQ(targets[id], sources[id]);
  }
}

TEST_F(MatchingTest, small_sends_go_eagerly_while_the_budget_lasts) {
  use(kNoEager, kEager);
  for (TransferId id = 1; id <= 4; ++id) send(id, id, 3000);
  settle();
  EXPECT_EQ(pair->a.senders.bytes_left_once(), 9000u);
  EXPECT_EQ(pair->b.endings(), 0u);
  for (TransferId id = 1; id <= 4; ++id) receive(id, id, 3000);
  settle();
  for (TransferId id = 1; id <= 4; ++id) {
    EXPECT_EQ(sent(id), Status::completed);
    EXPECT_EQ(targets[id], sources[id]);
  }
}

TEST_F(MatchingTest, the_eager_budget_comes_back_when_a_receive_takes_what_was_held) {
  use(kNoEager, kEager);
  for (TransferId id = 1; id <= 50; ++id) {
    send(id, 1, 3000);
    settle();
    EXPECT_EQ(pair->a.senders.bytes_left_once(), id * 3000);
    receive(id, 1, 3000);
    settle();
    ASSERT_EQ(received(id), Status::completed);
  }
}

TEST_F(MatchingTest, a_large_send_never_goes_eagerly) {
  use(kNoEager, kEager);
  send(1, 7, 4001);
  settle();
  EXPECT_EQ(pair->a.senders.bytes_left_once(), 0u);
}

TEST_F(MatchingTest, another_type_or_size_is_refused_at_both_ends_with_the_difference) {
  receive(1, 7, 1000);
  send(1, 7, 1001);
  settle();
  EXPECT_EQ(sent(1), Status::refused);
  EXPECT_EQ(received(1), Status::refused);
  EXPECT_NE(pair->a.ending(1).reason.find("u8[1001] (1001 bytes)"), std::string::npos);
  EXPECT_EQ(pair->a.ending(1).reason, pair->b.ending(1).reason);
  EXPECT_EQ(pair->a.senders.bytes_left_once(), 0u);
}

TEST_F(MatchingTest, a_mismatch_of_something_held_eagerly_is_refused_and_forgotten) {
  use(kNoEager, kEager);
  send(1, 7, 1000);
  settle();
  receive(1, 7, 999);
  settle();
  EXPECT_EQ(sent(1), Status::refused);
  EXPECT_EQ(received(1), Status::refused);
  EXPECT_FALSE(pair->b.receivers.expects_data());
  // The next ones of the tag are not affected, and neither is the budget.
  for (TransferId id = 2; id < 9; ++id) {
    send(id, 7, 3000);
    settle();
    receive(id, 7, 3000);
    settle();
    EXPECT_EQ(sent(id), Status::completed);
  }
  EXPECT_FALSE(pair->b.receivers.expects_data());
}

TEST_F(MatchingTest, a_mismatch_of_shapes_with_eight_dimensions_is_explained) {
  std::array<std::uint64_t, kDimensionsMax> extents{};
  extents.fill(1'000'000'000);
  sources[1] = random_bytes(1000);
  targets[1].resize(1000);
  SendRequest request = send_request(sources[1], 7, 1);
  request.segments[0].shape = *Shape::from(extents);
  pair->a.senders.start(pair->now, std::move(request));
  receive(1, 7, 1000);
  settle();
  EXPECT_EQ(sent(1), Status::refused);
  EXPECT_EQ(received(1), Status::refused);
  EXPECT_GT(pair->a.ending(1).reason.size(), 100u);
}

TEST_F(MatchingTest, a_list_meets_a_list_of_the_same_tensors) {
  sources[1] = random_bytes(5000);
  targets[1].resize(5000);
  const std::span<const std::byte> from(sources[1]);
  const std::span<std::byte> to(targets[1]);
  SendRequest request = send_request(from.first(1700), 7, 1);
  request.segments.push_back({from.subspan(1700), Dtype::u8, Shape{3300}});
  pair->a.senders.start(pair->now, std::move(request));
  ReceiveRequest wanted = receive_request(to.first(1700), 7, 1);
  wanted.segments.push_back({to.subspan(1700), Dtype::u8, Shape{3300}});
  pair->b.receivers.start(pair->now, std::move(wanted));
  settle();
  EXPECT_EQ(received(1), Status::completed);
  EXPECT_EQ(targets[1], sources[1]);
}

TEST_F(MatchingTest, a_list_does_not_meet_one_tensor_of_its_size) {
  sources[1] = random_bytes(2000);
  SendRequest request = send_request(std::span(sources[1]).first(1000), 7, 1);
  request.segments.push_back({std::span(sources[1]).subspan(1000), Dtype::u8, Shape{1000}});
  pair->a.senders.start(pair->now, std::move(request));
  receive(1, 7, 2000);
  settle();
  EXPECT_EQ(received(1), Status::refused);
  EXPECT_NE(pair->b.ending(1).reason.find("list of 2 tensors"), std::string::npos);
}

TEST_F(MatchingTest, more_requests_than_transfers_max_are_refused_and_take_no_n) {
  use({.transfers_max = 2}, kNoEager);
  for (TransferId id = 1; id <= 3; ++id) send(id, 7, 10 * id);
  EXPECT_EQ(sent(3), Status::refused);
  receive(1, 7, 10);
  receive(2, 7, 20);
  settle();
  EXPECT_EQ(sent(2), Status::completed);
  send(4, 7, 40);
  receive(4, 7, 40);
  settle();
  EXPECT_EQ(received(4), Status::completed);
  EXPECT_EQ(targets[4], sources[4]);
}

TEST_F(MatchingTest, the_receivers_limit_refuses_announcements_and_later_receives_learn_it) {
  use(kNoEager, {.transfers_max = 2});
  for (TransferId id = 1; id <= 3; ++id) send(id, id, 10);
  settle();
  EXPECT_EQ(sent(3), Status::refused);
  receive(1, 1, 10);
  settle();
  receive(3, 3, 10);
  EXPECT_EQ(received(3), Status::refused);
  receive(2, 2, 10);
  settle();
  EXPECT_EQ(received(2), Status::completed);
}

TEST_F(MatchingTest, announcements_never_keep_the_receives_out_that_would_take_them) {
  use(kNoEager, {.transfers_max = 3});
  for (TransferId id = 1; id <= 3; ++id) send(id, id, 10);
  settle();
  for (TransferId id = 4; id <= 6; ++id) receive(id, id, 10);
  EXPECT_EQ(pair->b.endings(), 0u);
  for (TransferId id = 4; id <= 6; ++id) send(id, id, 10);
  settle();
  for (TransferId id = 3; id >= 1; --id) receive(id, id, 10);
  settle();
  for (TransferId id = 1; id <= 6; ++id) EXPECT_EQ(sent(id), Status::completed) << id;
}

TEST_F(MatchingTest, a_receiver_may_post_as_many_as_its_own_limit_allows) {
  use({.transfers_max = 2}, kNoEager);
  for (TransferId id = 1; id <= 5000; ++id) receive(id, id, 10);
  settle();
  for (TransferId id = 1; id <= 5000; ++id) {
    send(id, id, 10);
    settle();
    ASSERT_EQ(sent(id), Status::completed);
  }
}

// More ends than the other side keeps are told again when its request comes.
TEST_F(MatchingTest, sends_that_failed_unmatched_on_countless_tags_still_end_their_receives) {
  constexpr TransferId kCount = 70'000;
  for (TransferId id = 1; id <= kCount; ++id) {
    send(id, id, 10);
    pair->a.senders.cancel(pair->now, id);
    if (id % 1000 == 0) settle();
  }
  settle();
  for (const TransferId id : {TransferId{1}, kCount}) {
    receive(id, id, 10);
    settle();
    EXPECT_EQ(received(id), Status::cancelled) << id;
  }
}

TEST_F(MatchingTest, receives_that_failed_unmatched_on_countless_tags_still_end_their_sends) {
  constexpr TransferId kCount = 70'000;
  for (TransferId id = 1; id <= kCount; ++id) {
    receive(id, id, 10);
    pair->b.receivers.cancel(pair->now, id);
    if (id % 1000 == 0) settle();
  }
  settle();
  for (const TransferId id : {TransferId{1}, kCount}) {
    send(id, id, 10);
    settle();
    EXPECT_EQ(sent(id), Status::cancelled) << id;
  }
}

TEST_F(MatchingTest, an_eager_send_that_meets_no_budget_waits_for_its_receive) {
  use(kNoEager, kEager);
  send(1, 7, 4000);
  // The peer has not got its budget back: everything is refused there, and so lost here.
  (void)pair->a.take_frames(pair->now);
  int sent_again = 0;
  for (DataPacket packet; pair->a.next(pair->now, 1200, packet); ++sent_again) {
    ASSERT_LT(sent_again, 100);
    pair->a.lose(packet);
  }
  EXPECT_GT(sent_again, 4);
  EXPECT_EQ(sent(1), Status::pending);
  receive(1, 7, 4000);
  pair->frames(pair->b, pair->a);
  DataPacket packet;
  EXPECT_TRUE(pair->a.next(pair->now, 1200, packet));
}

TEST_F(MatchingTest, a_peer_that_posts_without_end_is_stopped) {
  wire::Posted frame;
  bool valid = true;
  for (frame.tag = 0; valid && frame.tag < 1'000'000; ++frame.tag)
    valid = pair->a.senders.on_posted(pair->now, frame);
  EXPECT_FALSE(valid);
}

}  // namespace
}  // namespace longhaul::transfer
