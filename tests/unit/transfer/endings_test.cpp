// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/transfer/pair.hpp"

namespace longhaul::transfer {
namespace {

using std::chrono::milliseconds;

constexpr TransferLimits kEager{
    .transfers_max = 1000, .eager_budget = 1u << 20, .eager_max = 1u << 20};

struct EndingsTest : testing::Test {
  Pair pair;
  std::vector<std::byte> source = random_bytes(3000);
  std::vector<std::byte> target = std::vector<std::byte>(3000);

  void send(TransferId id, Tag tag = 7, const SendOptions& options = {}) {
    pair.a.senders.start(pair.now, send_request(source, tag, id, options));
  }
  void receive(TransferId id, Tag tag = 7, const ReceiveOptions& options = {}) {
    pair.b.receivers.start(pair.now, receive_request(target, tag, id, options));
  }
  void wait(Duration time) {
    pair.now += time;
    pair.a.senders.handle_timeout(pair.now, milliseconds(30));
    pair.b.receivers.handle_timeout(pair.now);
  }
  // The next transfer of the tag goes through: both ends agree on what n is.
  void expect_next_completes(Tag tag = 7) {
    send(900, tag);
    receive(900, tag);
    pair.settle();
    EXPECT_EQ(pair.a.status(900), Status::completed);
    EXPECT_EQ(pair.b.status(900), Status::completed);
    EXPECT_EQ(pair.a.senders.outstanding(), 0u);
    EXPECT_EQ(pair.b.receivers.outstanding(), 0u);
    EXPECT_EQ(pair.a.senders.next_timeout(), kNever);
    EXPECT_EQ(pair.b.receivers.next_timeout(), kNever);
  }
};

TEST_F(EndingsTest, what_a_peer_gives_as_its_reason_is_made_plain) {
  constexpr std::string_view kHostile = "\x1b]0;title\x07 a\nb \xc2\x9b \x9b";
  constexpr std::string_view kPlain = "?]0;title? a?b ? ?";
  receive(1);
  EXPECT_TRUE(
      pair.b.receivers.on_send_end(pair.now, wire::SendEnd{7, 0, Status::cancelled, kHostile}));
  EXPECT_EQ(pair.b.ending(1).reason, kPlain);
  send(2, 8);
  EXPECT_TRUE(pair.a.senders.on_receive_end(
      pair.now, wire::ReceiveEnd{8, 0, Status::cancelled, 0, kHostile}));
  EXPECT_EQ(pair.a.ending(2).reason, kPlain);
}

TEST_F(EndingsTest, a_cancelled_send_ends_the_receive_that_waits_for_it) {
  receive(1);
  send(1);
  pair.a.senders.cancel(pair.now, 1);
  EXPECT_EQ(pair.a.status(1), Status::cancelled);
  pair.settle();
  EXPECT_EQ(pair.b.status(1), Status::cancelled);
  EXPECT_EQ(pair.b.ending(1).reason, "cancelled by the sender");
  expect_next_completes();
}

TEST_F(EndingsTest, a_cancelled_send_takes_its_n_along) {
  send(1);
  pair.a.senders.cancel(pair.now, 1);
  pair.settle();
  receive(1);
  EXPECT_EQ(pair.b.status(1), Status::cancelled);
  expect_next_completes();
}

TEST_F(EndingsTest, a_cancelled_receive_takes_its_n_along) {
  receive(1);
  pair.b.receivers.cancel(pair.now, 1);
  EXPECT_EQ(pair.b.status(1), Status::cancelled);
  pair.settle();
  send(1);
  EXPECT_EQ(pair.a.status(1), Status::cancelled);
  expect_next_completes();
}

TEST_F(EndingsTest, a_cancelled_receive_ends_the_send_under_way) {
  receive(1);
  pair.frames(pair.b, pair.a);
  send(1);
  pair.frames(pair.a, pair.b);
  DataPacket packet;
  ASSERT_TRUE(pair.a.next(pair.now, 1200, packet));
  pair.b.receivers.cancel(pair.now, 1);
  const auto before = target;
  pair.settle();
  EXPECT_EQ(pair.a.status(1), Status::cancelled);
  // Its late packet finds nobody and touches nothing.
  EXPECT_EQ(pair.b.handle(pair.now, packet), Receivers::Fate::accepted);
  EXPECT_EQ(target, before);
  expect_next_completes();
}

TEST_F(EndingsTest, cancelling_what_is_over_or_unknown_changes_nothing) {
  pair.a.senders.cancel(pair.now, 5);
  pair.b.receivers.cancel(pair.now, 5);
  receive(1);
  send(1);
  pair.settle();
  pair.a.senders.cancel(pair.now, 1);
  pair.b.receivers.cancel(pair.now, 1);
  pair.settle();
  EXPECT_EQ(pair.a.status(1), Status::completed);
  EXPECT_EQ(pair.b.status(1), Status::completed);
}

TEST_F(EndingsTest, a_send_that_nobody_receives_ends_with_its_deadline) {
  send(1, 7, {.deadline = milliseconds(50)});
  pair.settle();
  EXPECT_EQ(pair.a.senders.next_timeout(), pair.now + milliseconds(50));
  wait(milliseconds(49));
  EXPECT_EQ(pair.a.status(1), Status::pending);
  wait(milliseconds(1));
  EXPECT_EQ(pair.a.status(1), Status::timed_out);
  EXPECT_EQ(pair.a.ending(1).reason, "deadline passed: the peer posted no receive");
  pair.settle();
  receive(1);
  EXPECT_EQ(pair.b.status(1), Status::timed_out);
  expect_next_completes();
}

TEST_F(EndingsTest, a_receive_that_nobody_sends_ends_with_its_deadline) {
  receive(1, 7, {.deadline = milliseconds(50)});
  pair.settle();
  wait(milliseconds(50));
  EXPECT_EQ(pair.b.status(1), Status::timed_out);
  pair.settle();
  send(1);
  EXPECT_EQ(pair.a.status(1), Status::timed_out);
  expect_next_completes();
}

TEST_F(EndingsTest, a_completed_transfer_has_no_deadline_any_more) {
  receive(1, 7, {.deadline = milliseconds(50)});
  send(1, 7, {.deadline = milliseconds(50)});
  pair.settle();
  wait(milliseconds(100));
  EXPECT_EQ(pair.a.status(1), Status::completed);
  EXPECT_EQ(pair.b.status(1), Status::completed);
}

TEST_F(EndingsTest, an_advertisement_that_comes_after_its_end_is_not_kept) {
  Pair small({.transfers_max = 4}, {.transfers_max = 4});
  for (Tag tag = 1; tag <= 66'000; ++tag) {
    small.b.receivers.start(small.now, receive_request(target, tag, tag));
    const auto posted = small.b.take_frames(small.now);
    small.b.receivers.cancel(small.now, tag);
    for (const FrameBytes& frame : small.b.take_frames(small.now))
      ASSERT_TRUE(small.a.handle(small.now, frame));
    for (const FrameBytes& frame : posted)  // a second copy, late
      ASSERT_TRUE(small.a.handle(small.now, frame)) << "after " << tag;
    small.a.senders.start(small.now, send_request(source, tag, tag));
    ASSERT_EQ(small.a.status(tag), Status::cancelled);
  }
}

TEST_F(EndingsTest, a_layout_ahead_of_an_announcement_that_is_over_is_not_kept) {
  const wire::Layout layout{0, 0, 1000, 0, 3000};
  wire::Transfer announcement;
  announcement.bytes = 3000;
  announcement.tag = 7;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    receive(i + 1);
    pair.b.receivers.cancel(pair.now, i + 1);
    wire::Layout early = layout;
    early.alias = announcement.alias = i;
    announcement.n = i;
    ASSERT_TRUE(pair.b.receivers.on_layout(pair.now, early)) << "after " << i;
    ASSERT_TRUE(pair.b.receivers.on_transfer(pair.now, announcement));
  }
}

TEST_F(EndingsTest, a_hopeless_tensor_ends_corrupt_at_both_ends) {
  receive(1);
  pair.frames(pair.b, pair.a);
  send(1);
  for (int packets = 0; pair.a.status(1) == Status::pending && packets < 1000; ++packets) {
    pair.frames(pair.a, pair.b);
    pair.frames(pair.b, pair.a);
    DataPacket packet;
    if (!pair.a.next(pair.now, 1200, packet)) continue;
    pair.frames(pair.a, pair.b);
    if (!packet.chunk.chunk.digest && packet.chunk.chunk.offset == 0)
      packet.bytes[5] ^= std::byte{1};
    EXPECT_EQ(pair.b.handle(pair.now, packet), Receivers::Fate::accepted);
  }
  EXPECT_EQ(pair.a.status(1), Status::corrupt);
  EXPECT_EQ(pair.b.status(1), Status::corrupt);
  EXPECT_EQ(pair.b.receivers.refetched_pieces(), 3u);
  expect_next_completes();
}

TEST_F(EndingsTest, a_tensor_held_eagerly_that_was_hopeless_ends_the_receive_posted_later) {
  Pair eager(kEager, kEager);
  eager.a.senders.start(eager.now, send_request(source, 7, 1));
  for (int packets = 0; eager.a.status(1) == Status::pending && packets < 1000; ++packets) {
    eager.frames(eager.a, eager.b);
    eager.frames(eager.b, eager.a);
    DataPacket packet;
    if (!eager.a.next(eager.now, 1200, packet)) continue;
    eager.frames(eager.a, eager.b);
    if (!packet.chunk.chunk.digest) packet.bytes[5] ^= std::byte{1};
    (void)eager.b.handle(eager.now, packet);
  }
  EXPECT_EQ(eager.a.status(1), Status::corrupt);
  eager.b.receivers.start(eager.now, receive_request(target, 7, 1));
  EXPECT_EQ(eager.b.status(1), Status::corrupt);
}

TEST_F(EndingsTest, the_end_of_everything_ends_each_request_once) {
  for (TransferId id = 1; id <= 10; ++id) {
    send(id, id);
    if (id % 2 == 0) receive(id, id);
    receive(100 + id, 100 + id);
  }
  pair.frames(pair.a, pair.b);
  pair.a.senders.end_all(Status::closed, "over");
  pair.b.receivers.end_all(Status::peer_lost, "gone");
  EXPECT_EQ(pair.a.endings(), 10u);
  EXPECT_EQ(pair.b.endings(), 15u);
  EXPECT_EQ(pair.b.ending(101).status, Status::peer_lost);
  EXPECT_EQ(pair.a.ending(1).reason, "over");
  EXPECT_EQ(pair.b.receivers.next_timeout(), kNever);
}

TEST_F(EndingsTest, an_impossible_end_is_the_peers_fault) {
  receive(1);
  send(1);
  const auto now = pair.now;
  EXPECT_FALSE(pair.b.receivers.on_send_end(now, {7, 0, Status::completed, {}}));
  EXPECT_FALSE(pair.a.senders.on_receive_end(now, {7, 0, Status::completed, 2999, {}}));
  EXPECT_FALSE(pair.a.senders.on_receive_end(now, {7, 5, Status::completed, 3000, {}}));
  EXPECT_FALSE(pair.a.senders.on_receive_end(now, {8, 0, Status::completed_partial, 1, {}}));
}

TEST_F(EndingsTest, contradictory_announcements_are_the_peers_fault) {
  wire::Transfer frame;
  frame.alias = 5;
  frame.tag = 1;
  frame.bytes = 100;
  EXPECT_TRUE(pair.b.receivers.on_transfer(pair.now, frame));
  EXPECT_TRUE(pair.b.receivers.on_transfer(pair.now, frame));
  wire::Transfer other = frame;
  other.tag = 2;
  EXPECT_FALSE(pair.b.receivers.on_transfer(pair.now, other));  // one alias, two transfers
  other = frame;
  other.alias = 6;
  EXPECT_FALSE(pair.b.receivers.on_transfer(pair.now, other));  // one transfer, two aliases
  other.tag = 3;
  other.piece_log2 = 5;
  EXPECT_FALSE(pair.b.receivers.on_transfer(pair.now, other));
}

}  // namespace
}  // namespace longhaul::transfer
