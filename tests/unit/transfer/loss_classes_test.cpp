// SPDX-License-Identifier: Apache-2.0
// Bounded loss and best effort: when is what has come enough?
#include <gtest/gtest.h>

#include "tests/unit/transfer/pair.hpp"

namespace longhaul::transfer {
namespace {

using std::chrono::milliseconds;

constexpr TransferLimits kEager{
    .transfers_max = 1000, .eager_budget = 1u << 20, .eager_max = 1u << 20};

struct LossClassesTest : testing::Test {
  Pair pair;
  std::vector<std::byte> source = random_bytes(10'000);
  std::vector<std::byte> target = std::vector<std::byte>(10'000, std::byte{0xee});

  void begin(const SendOptions& options, const ReceiveOptions& wanted = {}) {
    pair.b.receivers.start(pair.now, receive_request(target, 7, 1, wanted));
    pair.frames(pair.b, pair.a);
    pair.a.senders.start(pair.now, send_request(source, 7, 1, options));
  }
  // Sends all there is; the chunk at `lost` is still on its way.
  void send_without(std::uint64_t lost) {
    DataPacket packet;
    while (pair.a.next(pair.now, 1000, packet)) {
      pair.frames(pair.a, pair.b);
      if (!packet.chunk.chunk.digest && packet.chunk.chunk.offset == lost) continue;
      EXPECT_EQ(pair.b.handle(pair.now, packet), Receivers::Fate::accepted);
    }
    pair.frames(pair.a, pair.b);
  }
  void wait(Duration time) {
    pair.now += time;
    pair.a.senders.handle_timeout(pair.now, milliseconds(30));
    pair.b.receivers.handle_timeout(pair.now);
  }
  void expect_partial_without(std::uint64_t begin, std::uint64_t end) {
    pair.settle();
    ASSERT_EQ(pair.b.status(1), Status::completed_partial);
    EXPECT_EQ(pair.a.status(1), Status::completed_partial);
    EXPECT_EQ(pair.b.ending(1).received,
              (std::vector<ByteRange>{{0, begin}, {end, source.size()}}));
    for (std::size_t i = 0; i < source.size(); ++i)
      ASSERT_EQ(target[i], i >= begin && i < end ? std::byte{0xee} : source[i]);
  }
};

TEST_F(LossClassesTest, best_effort_that_arrived_whole_is_simply_completed) {
  begin({.reliability = Reliability::best_effort});
  send_without(UINT64_MAX);
  pair.settle();
  EXPECT_EQ(pair.a.status(1), Status::completed);
  EXPECT_EQ(pair.b.status(1), Status::completed);
}

TEST_F(LossClassesTest, best_effort_ends_partial_a_little_after_everything_has_left) {
  begin({.reliability = Reliability::best_effort});
  send_without(3000);
  EXPECT_EQ(pair.b.status(1), Status::pending);
  EXPECT_LE(pair.b.receivers.next_timeout(), pair.now + milliseconds(10));
  wait(milliseconds(10));
  expect_partial_without(3000, 4000);
}

TEST_F(LossClassesTest, all_sent_ahead_of_the_announcement_ends_nothing) {
  begin({.reliability = Reliability::best_effort});
  const auto announcement = pair.a.take_frames(pair.now);
  std::vector<DataPacket> packets;
  for (DataPacket packet; pair.a.next(pair.now, 1000, packet);) packets.push_back(packet);
  pair.frames(pair.a, pair.b);  // LAYOUT and ALL_SENT
  wait(std::chrono::seconds(1));
  EXPECT_EQ(pair.b.status(1), Status::pending);
  for (const FrameBytes& frame : announcement) ASSERT_TRUE(pair.b.handle(pair.now, frame));
  for (const DataPacket& packet : packets) (void)pair.b.handle(pair.now, packet);
  pair.settle();
  EXPECT_EQ(pair.b.status(1), Status::completed);
  EXPECT_EQ(target, source);
}

TEST_F(LossClassesTest, all_sent_of_a_receive_that_was_cancelled_is_forgotten) {
  for (TransferId id = 1; id <= 70'000; ++id) {
    pair.b.receivers.start(pair.now, receive_request(target, 7, id));
    ASSERT_TRUE(pair.b.receivers.on_all_sent(pair.now, {7, id - 1}, milliseconds(2))) << id;
    pair.b.receivers.cancel(pair.now, id);
    pair.b.take_frames(pair.now);
  }
}

TEST_F(LossClassesTest, bounded_loss_within_the_budget_ends_partial) {
  begin({.reliability = Reliability::bounded_loss, .loss_budget = 1000});
  send_without(3000);
  wait(milliseconds(10));
  expect_partial_without(3000, 4000);
}

TEST_F(LossClassesTest, bounded_loss_beyond_the_budget_waits_for_what_is_missing) {
  begin({.reliability = Reliability::bounded_loss, .loss_budget = 999});
  DataPacket lost;
  DataPacket packet;
  while (pair.a.next(pair.now, 1000, packet)) {
    pair.frames(pair.a, pair.b);
    if (!packet.chunk.chunk.digest && packet.chunk.chunk.offset == 3000)
      lost = packet;
    else
      (void)pair.b.handle(pair.now, packet);
  }
  pair.frames(pair.a, pair.b);
  wait(milliseconds(10));
  EXPECT_EQ(pair.b.status(1), Status::pending);
  pair.a.lose(lost);
  pair.settle();
  EXPECT_EQ(pair.b.status(1), Status::completed);
  EXPECT_EQ(pair.a.status(1), Status::completed);
}

TEST_F(LossClassesTest, the_senders_deadline_asks_for_the_receivers_word) {
  begin({.reliability = Reliability::bounded_loss,
         .loss_budget = 1000,
         .deadline = milliseconds(50)});
  DataPacket packet;
  while (pair.a.next(pair.now, 1000, packet)) {
    pair.frames(pair.a, pair.b);
    if (packet.chunk.chunk.digest || packet.chunk.chunk.offset != 3000)
      (void)pair.b.handle(pair.now, packet);
    if (pair.a.senders.bytes_left_once() == 9000) break;  // 1000 more have not left
  }
  wait(milliseconds(50));
  EXPECT_EQ(pair.a.status(1), Status::pending);
  pair.settle();
  EXPECT_EQ(pair.b.status(1), Status::timed_out);  // 2000 are missing
  EXPECT_EQ(pair.a.status(1), Status::timed_out);
}

TEST_F(LossClassesTest, a_sender_that_gets_no_word_ends_by_itself) {
  begin({.reliability = Reliability::best_effort, .deadline = milliseconds(50)});
  wait(milliseconds(50));
  EXPECT_EQ(pair.a.status(1), Status::pending);
  wait(milliseconds(30));
  EXPECT_EQ(pair.a.status(1), Status::timed_out);
}

TEST_F(LossClassesTest, the_receivers_deadline_takes_what_is_enough) {
  begin({.reliability = Reliability::best_effort}, {.deadline = milliseconds(50)});
  DataPacket packet;
  ASSERT_TRUE(pair.a.next(pair.now, 1000, packet));
  pair.frames(pair.a, pair.b);
  (void)pair.b.handle(pair.now, packet);
  wait(milliseconds(50));
  EXPECT_EQ(pair.b.status(1), Status::completed_partial);
  EXPECT_EQ(pair.b.ending(1).received, (std::vector<ByteRange>{{0, 1000}}));
  pair.settle();
  EXPECT_EQ(pair.a.status(1), Status::completed_partial);
}

TEST_F(LossClassesTest, the_receivers_deadline_does_not_take_an_exact_tensor_in_part) {
  begin({}, {.deadline = milliseconds(50)});
  DataPacket packet;
  ASSERT_TRUE(pair.a.next(pair.now, 1000, packet));
  pair.frames(pair.a, pair.b);
  (void)pair.b.handle(pair.now, packet);
  wait(milliseconds(50));
  EXPECT_EQ(pair.b.status(1), Status::timed_out);
  EXPECT_TRUE(pair.b.ending(1).received.empty());
}

TEST_F(LossClassesTest, word_that_everything_has_left_may_come_before_the_announcement) {
  pair.a.senders.set_peer_limits(kEager);
  Side receiver(kEager);
  pair.a.senders.start(pair.now,
                       send_request(source, 7, 1, {.reliability = Reliability::best_effort}));
  auto frames = pair.a.take_frames(pair.now);  // the announcement
  DataPacket packet;
  while (pair.a.next(pair.now, 1000, packet)) {
    if (!packet.chunk.chunk.digest && packet.chunk.chunk.offset == 3000) continue;
    EXPECT_EQ(receiver.handle(pair.now, packet), Receivers::Fate::accepted);
  }
  for (const FrameBytes& frame : pair.a.take_frames(pair.now)) frames.push_back(frame);
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
    ASSERT_TRUE(receiver.handle(pair.now, *frame));
  receiver.receivers.start(pair.now, receive_request(target, 7, 1));
  receiver.receivers.handle_timeout(pair.now + milliseconds(10));
  EXPECT_EQ(receiver.status(1), Status::completed_partial);
}

TEST_F(LossClassesTest, word_about_transfers_nobody_announces_is_bounded) {
  wire::AllSent frame;
  bool valid = true;
  for (frame.tag = 0; valid && frame.tag < 1'000'000; ++frame.tag)
    valid = pair.b.receivers.on_all_sent(pair.now, frame, milliseconds(5));
  EXPECT_FALSE(valid);
}

}  // namespace
}  // namespace longhaul::transfer
