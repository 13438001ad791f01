// SPDX-License-Identifier: Apache-2.0
// Chunks that come before what explains them, and what is told while bytes arrive.
#include <gtest/gtest.h>

#include "tests/unit/transfer/pair.hpp"

namespace longhaul::transfer {
namespace {

struct ReceiversTest : testing::Test {
  Pair pair;
  std::vector<std::byte> source = random_bytes(10'000);
  std::vector<std::byte> target = std::vector<std::byte>(10'000);
  std::vector<FrameBytes> frames;
  std::vector<DataPacket> packets;

  // A send that knows its receive, all of it under way.
  void send_everything(std::size_t bytes = 10'000, std::uint32_t payload_max = 1000) {
    source = random_bytes(bytes);
    target.assign(bytes, std::byte{});
    pair.b.receivers.start(pair.now, receive_request(target));
    pair.frames(pair.b, pair.a);
    pair.a.senders.start(pair.now, send_request(source));
    DataPacket packet;
    while (pair.a.next(pair.now, payload_max, packet)) packets.push_back(packet);
    frames = pair.a.take_frames(pair.now);
  }
};

TEST_F(ReceiversTest, packets_ahead_of_their_announcement_are_kept_and_placed_when_it_comes) {
  send_everything();
  for (const DataPacket& packet : packets)
    EXPECT_EQ(pair.b.handle(pair.now, packet), Receivers::Fate::accepted);
  EXPECT_EQ(pair.b.status(1), Status::pending);
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
    EXPECT_TRUE(pair.b.handle(pair.now, *frame));
  EXPECT_EQ(pair.b.status(1), Status::completed);
  EXPECT_EQ(target, source);
}

TEST_F(ReceiversTest, a_packet_that_cannot_be_kept_is_refused_so_that_its_sender_keeps_it) {
  send_everything(12u << 20);
  std::vector<DataPacket> refused;
  for (const DataPacket& packet : packets)
    if (pair.b.handle(pair.now, packet) == Receivers::Fate::refused) refused.push_back(packet);
  EXPECT_GT(refused.size(), 1000u);
  EXPECT_LT(refused.size(), packets.size());
  for (const FrameBytes& frame : frames) EXPECT_TRUE(pair.b.handle(pair.now, frame));
  EXPECT_EQ(pair.b.status(1), Status::pending);
  for (const DataPacket& packet : refused) pair.a.lose(packet);
  pair.settle();
  EXPECT_EQ(pair.b.status(1), Status::completed);
  EXPECT_EQ(target, source);
}

TEST_F(ReceiversTest, chunks_of_something_nobody_will_take_are_refused) {
  pair.a.senders.start(pair.now, send_request(source));
  pair.frames(pair.a, pair.b);
  EXPECT_EQ(pair.b.receivers.on_chunk(pair.now, 0, 0, 0, false, {source, source.size(), false}),
            Receivers::Fate::refused);
}

TEST_F(ReceiversTest, a_chunk_of_the_wrong_size_is_malformed_and_not_taken) {
  send_everything();
  for (const FrameBytes& frame : frames) EXPECT_TRUE(pair.b.handle(pair.now, frame));
  packets[0].bytes.pop_back();
  EXPECT_EQ(pair.b.handle(pair.now, packets[0]), Receivers::Fate::malformed);
}

TEST_F(ReceiversTest, packets_of_one_transfer_may_mix_with_those_of_others) {
  std::map<TransferId, std::vector<std::byte>> sources;
  std::map<TransferId, std::vector<std::byte>> targets;
  for (TransferId id = 1; id <= 50; ++id) {
    targets[id].resize(3000);
    pair.b.receivers.start(pair.now, receive_request(targets[id], id, id));
  }
  pair.frames(pair.b, pair.a);
  base::Random random(3);
  for (TransferId id = 1; id <= 50; ++id) {
    sources[id] = random_bytes(3000, id);
    pair.a.senders.start(pair.now, send_request(sources[id], id, id));
  }
  DataPacket packet;
  while (pair.a.next(pair.now, 700, packet)) packets.push_back(packet);
  pair.frames(pair.a, pair.b);
  for (std::size_t i = 0; i < packets.size(); ++i) {
    std::swap(packets[i], packets[i + random.below(packets.size() - i)]);
    EXPECT_EQ(pair.b.handle(pair.now, packets[i]), Receivers::Fate::accepted);
  }
  for (TransferId id = 1; id <= 50; ++id) {
    EXPECT_EQ(pair.b.status(id), Status::completed);
    EXPECT_EQ(targets[id], sources[id]);
  }
}

TEST_F(ReceiversTest, piece_events_tell_every_byte_placed_and_verified_exactly_once) {
  source = random_bytes(200'000);
  target.resize(200'000);
  pair.b.receivers.start(pair.now, receive_request(target, 1, 1, {.piece_events = true}));
  pair.frames(pair.b, pair.a);
  pair.a.senders.start(pair.now, send_request(source));
  DataPacket packet;
  std::array<base::IntervalSet, 2> told;
  const auto listen = [&] {
    Event event;
    while (pair.b.receivers.poll_notification(event)) pair.b.events.push_back(event);
    for (; !pair.b.events.empty(); pair.b.events.pop_front())
      if (const auto* piece = std::get_if<PieceEvent>(&pair.b.events.front())) {
        auto& set = told[piece->verified ? 1 : 0];
        EXPECT_EQ(set.insert(piece->range.begin, piece->range.end),
                  piece->range.end - piece->range.begin);
      }
  };
  for (int i = 0; pair.a.next(pair.now, 1200, packet); ++i) {
    pair.frames(pair.a, pair.b);
    (void)pair.b.handle(pair.now, packet);
    if (i % 7 == 0) listen();
  }
  listen();
  EXPECT_EQ(told[0].total(), 200'000u);
  EXPECT_EQ(told[1].total(), 200'000u);
}

TEST_F(ReceiversTest, progress_is_told_once_a_drain) {
  send_everything();
  for (const FrameBytes& frame : frames) EXPECT_TRUE(pair.b.handle(pair.now, frame));
  for (int i = 0; i < 5; ++i) (void)pair.b.handle(pair.now, packets[static_cast<std::size_t>(i)]);
  Event event;
  ASSERT_TRUE(pair.b.receivers.poll_notification(event));
  EXPECT_EQ(std::get<ProgressEvent>(event).placed, 5000u);
  EXPECT_FALSE(pair.b.receivers.poll_notification(event));
  ProgressEvent progress;
  ASSERT_TRUE(pair.a.senders.poll_progress(progress));
  EXPECT_EQ(progress.placed, 10'000u);
  EXPECT_FALSE(pair.a.senders.poll_progress(progress));
}

TEST_F(ReceiversTest, every_outstanding_transfer_has_a_line_in_the_dump) {
  pair.a.senders.start(pair.now, send_request(source, 3, 1));
  pair.b.receivers.start(pair.now, receive_request(target, 4, 2));
  std::vector<std::string> lines;
  pair.a.senders.dump(pair.now + std::chrono::milliseconds(7), lines);
  pair.b.receivers.dump(pair.now, lines);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0],
            "send tag=3 n=0 bytes=10000 left_once=0 age_ms=7 state=waiting for a posted receive");
  EXPECT_EQ(lines[1],
            "receive tag=4 n=0 bytes=10000 missing=10000 age_ms=0 state=waiting for the sender");
}

}  // namespace
}  // namespace longhaul::transfer
