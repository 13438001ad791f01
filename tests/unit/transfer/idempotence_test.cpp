// SPDX-License-Identifier: Apache-2.0
// Control frames in any order and more than once, packets lost, late or refused: whatever happened
// on the way, both ends come to the same end.
#include <gtest/gtest.h>

#include "tests/unit/transfer/pair.hpp"

namespace longhaul::transfer {
namespace {

constexpr TransferLimits kLimits{.transfers_max = 1000, .eager_budget = 20'000, .eager_max = 5000};
constexpr TransferId kTransfers = 24;

// Frames and packets under way, taken out in random order.
class Disorder {
 public:
  explicit Disorder(std::uint64_t seed) : random_(seed), pair_(kLimits, kLimits) {}

  void run() {
    TransferId next_send = 1;
    TransferId next_receive = 1;
    for (int idle = 0; idle < 200; ++idle) {
      if (next_send <= kTransfers && random_.below(3) == 0) idle = 0, send(next_send++);
      if (next_receive <= kTransfers && random_.below(3) == 0) idle = 0, receive(next_receive++);
      if (step()) idle = 0;
      if (testing::Test::HasFailure()) return;
    }
  }

  void expect_the_same_end_everywhere() {
    for (TransferId id = 1; id <= kTransfers; ++id) {
      const Status expected = wrong_size(id) ? Status::refused : Status::completed;
      ASSERT_EQ(pair_.a.status(id), expected) << "send " << id;
      ASSERT_EQ(pair_.b.status(id), expected) << "receive " << id;
      if (expected == Status::completed) {
        ASSERT_EQ(targets_[id], sources_[id]) << "tensor " << id;
      }
    }
    ASSERT_EQ(pair_.a.senders.outstanding(), 0u);
    ASSERT_EQ(pair_.b.receivers.outstanding(), 0u);
    ASSERT_FALSE(pair_.b.receivers.expects_data());
    ASSERT_FALSE(pair_.a.senders.waits_for_receiver());
  }

 private:
  static bool wrong_size(TransferId id) { return id % 7 == 0; }
  static std::size_t size(TransferId id) { return id % 5 == 0 ? 0 : id * 997 % 9000; }

  void send(TransferId id) {
    sources_[id] = random_bytes(size(id), id);
    pair_.a.senders.start(pair_.now, send_request(sources_[id], id % 3, id));
  }
  void receive(TransferId id) {
    targets_[id].resize(size(id) + (wrong_size(id) ? 1 : 0));
    pair_.b.receivers.start(pair_.now, receive_request(targets_[id], id % 3, id));
  }

  // One thing happens; false if there was nothing that could.
  bool step() {
    gather(pair_.a, to_b_);
    gather(pair_.b, to_a_);
    DataPacket packet;
    if (random_.below(2) == 0 &&
        pair_.a.next(pair_.now, random_.below(2) == 0 ? 700 : 1200, packet)) {
      gather(pair_.a, to_b_);
      packets_.push_back(packet);
    }
    switch (random_.below(4)) {
      case 0:
        return deliver(to_a_, pair_.a);
      case 1:
        return deliver(to_b_, pair_.b);
      default:
        return deliver_packet() || !to_a_.empty() || !to_b_.empty();
    }
  }
  void gather(Side& side, std::vector<FrameBytes>& under_way) {
    for (FrameBytes& frame : side.take_frames(pair_.now)) {
      copies_.push_back(frame);
      under_way.push_back(std::move(frame));
    }
  }
  template <typename T>
  T take(std::vector<T>& items) {
    std::swap(items[random_.below(items.size())], items.back());
    T item = std::move(items.back());
    items.pop_back();
    return item;
  }
  bool deliver(std::vector<FrameBytes>& under_way, Side& to) {
    if (under_way.empty()) return false;
    const FrameBytes frame = take(under_way);
    EXPECT_TRUE(to.handle(pair_.now, frame));
    if (random_.below(3) == 0) under_way.push_back(frame);
    return true;
  }
  bool deliver_packet() {
    if (packets_.empty()) return false;
    const DataPacket packet = take(packets_);
    if (random_.below(5) == 0) {
      pair_.a.lose(packet);
      // Lost too early: it still comes.
      if (random_.below(2) == 0) (void)pair_.b.handle(pair_.now, packet);
    } else if (pair_.b.handle(pair_.now, packet) != Receivers::Fate::accepted) {
      pair_.a.lose(packet);
    }
    return true;
  }

  base::Random random_;
  Pair pair_;
  std::map<TransferId, std::vector<std::byte>> sources_;
  std::map<TransferId, std::vector<std::byte>> targets_;
  std::vector<FrameBytes> to_a_;
  std::vector<FrameBytes> to_b_;
  std::vector<FrameBytes> copies_;
  std::vector<DataPacket> packets_;
};

TEST(idempotence, any_order_and_any_number_of_copies_lead_to_the_same_end) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Disorder disorder(seed);
    disorder.run();
    if (!testing::Test::HasFailure()) disorder.expect_the_same_end_everywhere();
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(idempotence, a_whole_conversation_told_again_changes_nothing) {
  Pair pair(kLimits, kLimits);
  const auto source = random_bytes(50'000);
  std::vector<std::byte> target(50'000);
  std::vector<std::pair<Side*, FrameBytes>> told;
  std::vector<DataPacket> packets;
  pair.a.senders.start(pair.now, send_request(source));
  pair.b.receivers.start(pair.now, receive_request(target));
  for (int round = 0; round < 300; ++round) {
    for (auto [from, to] : {std::pair{&pair.a, &pair.b}, std::pair{&pair.b, &pair.a}})
      for (const FrameBytes& frame : from->take_frames(pair.now)) {
        told.emplace_back(to, frame);
        ASSERT_TRUE(to->handle(pair.now, frame));
      }
    DataPacket packet;
    if (pair.a.next(pair.now, 1200, packet)) {
      packets.push_back(packet);
      if (pair.b.handle(pair.now, packet) != Receivers::Fate::accepted) pair.a.lose(packet);
    }
  }
  ASSERT_EQ(pair.a.status(1), Status::completed);
  std::vector<std::byte> reused(50'000, std::byte{0x11});
  const auto before = reused;
  target = reused;
  for (const auto& [to, frame] : told) EXPECT_TRUE(to->handle(pair.now, frame));
  for (const DataPacket& packet : packets)
    EXPECT_EQ(pair.b.handle(pair.now, packet), Receivers::Fate::accepted);
  EXPECT_EQ(target, before);
  EXPECT_EQ(pair.a.senders.outstanding() + pair.b.receivers.outstanding(), 0u);
  EXPECT_TRUE(pair.a.take_frames(pair.now).empty());
  EXPECT_TRUE(pair.b.take_frames(pair.now).empty());
}

}  // namespace
}  // namespace longhaul::transfer
