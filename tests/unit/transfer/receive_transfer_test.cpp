// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/receive_transfer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "lib/base/byte_writer.hpp"
#include "tests/unit/transfer/requests.hpp"

namespace longhaul::transfer {
namespace {

using Result = ReceiveTransfer::Result;

constexpr std::uint8_t kLog2 = 10;
constexpr std::uint64_t kPieceBytes = 1024;

struct ReceiveTransferTest : testing::Test {
  std::vector<std::byte> source;
  std::vector<std::byte> target;
  SourceMemory source_memory;
  ReceiveTransfer transfer{base::PayloadMode::bytes};
  Pieces pieces;

  void announce(std::size_t bytes) {
    source = random_bytes(bytes);
    source_memory.add(source);
    wire::Transfer frame;
    frame.bytes = bytes;
    frame.piece_log2 = kLog2;
    pieces = {bytes, kLog2};
    transfer.set_announcement(frame);
  }
  void post() {
    target.assign(source.size(), std::byte{0xee});
    DestinationMemory memory;
    memory.add(target);
    transfer.set_destination(std::move(memory));
  }
  void begin(std::size_t bytes, std::uint32_t chunk_size) {
    announce(bytes);
    post();
    ASSERT_TRUE(transfer.add_layout(0, {chunk_size, 0, bytes}));
  }
  Result chunk(std::uint32_t index, std::uint8_t layout = 0, std::uint32_t size = 100) {
    const std::uint64_t begin = std::uint64_t{index} * size;
    const auto bytes = std::span<const std::byte>(source).subspan(begin).first(
        std::min<std::uint64_t>(size, source.size() - begin));
    return transfer.on_chunk(layout, index, {bytes, bytes.size(), false});
  }
  Result forged(std::uint32_t index, std::uint32_t size) {
    const std::vector<std::byte> wrong(size, std::byte{0x5a});
    return transfer.on_chunk(0, index, {wrong, wrong.size(), false});
  }
  std::vector<std::byte> digests_of(std::uint32_t group) {
    const base::Interval range = pieces.group(group);
    std::vector<std::byte> bytes(range.length() * wire::kDigestBytes);
    base::ByteWriter writer(bytes);
    for (std::uint64_t piece = range.begin; piece < range.end; ++piece)
      writer.u64(digest(source_memory, pieces.range(piece).begin, pieces.range(piece).length()));
    return bytes;
  }
  Result digests(std::uint32_t group = 0) {
    const auto bytes = digests_of(group);
    return transfer.on_digests(group, {bytes, bytes.size(), false});
  }
};

TEST_F(ReceiveTransferTest, bytes_go_to_their_place_and_nowhere_else) {
  begin(1000, 100);
  EXPECT_EQ(chunk(3), Result::placed);
  for (std::size_t i = 0; i < 1000; ++i)
    ASSERT_EQ(target[i], i >= 300 && i < 400 ? source[i] : std::byte{0xee});
  EXPECT_EQ(transfer.placed_bytes(), 100u);
  EXPECT_EQ(transfer.verified_bytes(), 0u);
}

TEST_F(ReceiveTransferTest, it_is_complete_when_every_byte_is_placed_and_verified) {
  begin(2500, 100);
  for (std::uint32_t i = 0; i < 25; ++i) EXPECT_EQ(chunk(i), Result::placed);
  EXPECT_FALSE(transfer.complete());
  EXPECT_EQ(digests(), Result::placed);
  EXPECT_TRUE(transfer.complete());
  EXPECT_EQ(target, source);
}

TEST_F(ReceiveTransferTest, digests_may_come_before_their_pieces) {
  begin(2500, 100);
  EXPECT_EQ(digests(), Result::placed);
  for (std::uint32_t i = 0; i < 25; ++i) EXPECT_EQ(chunk(i), Result::placed);
  EXPECT_TRUE(transfer.complete());
}

TEST_F(ReceiveTransferTest, an_empty_tensor_is_complete_at_once) {
  announce(0);
  post();
  EXPECT_TRUE(transfer.complete());
  EXPECT_FALSE(transfer.add_layout(0, {100, 0, 0}));
}

TEST_F(ReceiveTransferTest, bytes_that_came_before_are_counted_and_not_written_again) {
  begin(1000, 100);
  chunk(3);
  EXPECT_EQ(forged(3, 100), Result::duplicate);
  EXPECT_EQ(transfer.duplicate_bytes(), 100u);
  EXPECT_TRUE(
      std::ranges::equal(std::span(target).subspan(300, 100), std::span(source).subspan(300, 100)));
}

TEST_F(ReceiveTransferTest, a_chunk_of_another_size_than_its_layout_says_is_not_taken) {
  begin(1050, 100);
  const std::vector<std::byte> bytes(101);
  for (const std::size_t size : {0u, 99u, 101u})
    EXPECT_EQ(transfer.on_chunk(0, 3, {std::span(bytes).first(size), size, false}),
              Result::wrong_size);
  EXPECT_EQ(transfer.on_chunk(0, 10, {std::span(bytes).first(100), 100, false}),
            Result::wrong_size);  // the last one has 50
  EXPECT_EQ(transfer.on_chunk(0, 11, {std::span(bytes).first(100), 100, false}),
            Result::wrong_size);  // beyond the layout
  EXPECT_EQ(transfer.placed_bytes(), 0u);
}

TEST_F(ReceiveTransferTest, digests_of_another_size_than_their_group_are_not_taken) {
  begin(2500, 100);
  const std::vector<std::byte> bytes(64 * 8);
  EXPECT_EQ(transfer.on_digests(0, {std::span(bytes).first(16), 16, false}), Result::wrong_size);
  EXPECT_EQ(transfer.on_digests(1, {std::span(bytes).first(24), 24, false}), Result::wrong_size);
  EXPECT_EQ(transfer.on_digests(1, {{}, 0, false}), Result::wrong_size);
}

TEST_F(ReceiveTransferTest, a_chunk_of_a_layout_not_announced_yet_has_to_wait) {
  begin(1000, 100);
  EXPECT_EQ(chunk(0, 1), Result::unknown_layout);
  EXPECT_EQ(chunk(0, 255), Result::unknown_layout);
  ASSERT_TRUE(transfer.add_layout(1, {100, 0, 1000}));
  EXPECT_EQ(chunk(0, 1), Result::placed);
}

TEST_F(ReceiveTransferTest, a_layout_is_repeated_but_never_changed) {
  begin(1000, 100);
  EXPECT_TRUE(transfer.add_layout(0, {100, 0, 1000}));
  EXPECT_FALSE(transfer.add_layout(0, {200, 0, 1000}));
  EXPECT_FALSE(transfer.add_layout(0, {100, 100, 900}));
}

TEST_F(ReceiveTransferTest, a_layout_lies_inside_its_transfer) {
  announce(1000);
  EXPECT_FALSE(transfer.add_layout(0, {100, 0, 0}));
  EXPECT_FALSE(transfer.add_layout(0, {100, 0, 1001}));
  EXPECT_FALSE(transfer.add_layout(0, {100, 999, 2}));
  EXPECT_FALSE(transfer.add_layout(0, {100, UINT64_MAX, 2}));
  EXPECT_TRUE(transfer.add_layout(0, {100, 999, 1}));
}

TEST_F(ReceiveTransferTest, bytes_taken_eagerly_reach_the_destination_posted_later) {
  announce(2500);
  transfer.hold_eagerly();
  ASSERT_TRUE(transfer.add_layout(0, {100, 0, 2500}));
  for (std::uint32_t i = 0; i < 20; ++i) EXPECT_EQ(chunk(i), Result::placed);
  digests();
  EXPECT_EQ(transfer.verified_bytes(), kPieceBytes);
  post();
  for (std::uint32_t i = 20; i < 25; ++i) EXPECT_EQ(chunk(i), Result::placed);
  EXPECT_TRUE(transfer.complete());
  EXPECT_EQ(target, source);
}

TEST_F(ReceiveTransferTest, a_forged_chunk_is_caught_by_the_digest_and_only_its_piece_comes_again) {
  begin(3 * kPieceBytes, 256);
  for (std::uint32_t i = 0; i < 12; ++i)
    EXPECT_EQ(i == 5 ? forged(5, 256) : chunk(i, 0, 256), Result::placed);
  digests();
  EXPECT_FALSE(transfer.complete());
  const auto range = transfer.take_refetch();
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(*range, (base::Interval{kPieceBytes, 2 * kPieceBytes}));
  EXPECT_FALSE(transfer.take_refetch().has_value());
  for (std::uint32_t i = 4; i < 8; ++i) EXPECT_EQ(chunk(i, 0, 256), Result::placed);
  digests();
  EXPECT_TRUE(transfer.complete());
  EXPECT_EQ(target, source);
}

TEST_F(ReceiveTransferTest, a_piece_is_fetched_again_three_times_and_is_then_hopeless) {
  begin(kPieceBytes, 1024);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(forged(0, 1024), Result::placed);
    digests();
    ASSERT_TRUE(transfer.take_refetch().has_value());
    EXPECT_FALSE(transfer.hopeless());
  }
  forged(0, 1024);
  digests();
  EXPECT_FALSE(transfer.take_refetch().has_value());
  EXPECT_TRUE(transfer.hopeless());
  EXPECT_FALSE(transfer.complete());
}

TEST_F(ReceiveTransferTest, damaged_digests_cost_a_fetch_and_not_the_transfer) {
  begin(2 * kPieceBytes, 1024);
  chunk(0, 0, 1024);
  chunk(1, 0, 1024);
  auto wrong = digests_of(0);
  wrong[12] ^= std::byte{1};
  EXPECT_EQ(transfer.on_digests(0, {wrong, wrong.size(), false}), Result::placed);
  EXPECT_EQ(transfer.verified_bytes(), kPieceBytes);
  ASSERT_TRUE(transfer.take_refetch().has_value());
  chunk(1, 0, 1024);
  EXPECT_FALSE(transfer.complete());
  digests();
  EXPECT_TRUE(transfer.complete());
}

TEST_F(ReceiveTransferTest, what_is_verified_stays_whatever_comes_later) {
  begin(2 * kPieceBytes, 1024);
  chunk(0, 0, 1024);
  digests();
  ASSERT_EQ(transfer.verified_bytes(), kPieceBytes);
  EXPECT_EQ(forged(0, 1024), Result::duplicate);
  const std::vector<std::byte> wrong(16, std::byte{1});
  EXPECT_EQ(transfer.on_digests(0, {wrong, wrong.size(), false}), Result::placed);
  EXPECT_EQ(transfer.verified_bytes(), kPieceBytes);
  EXPECT_TRUE(std::ranges::equal(std::span(target).first(1024), std::span(source).first(1024)));
}

TEST_F(ReceiveTransferTest, piece_events_tell_ranges_once_and_what_was_there_before_too) {
  begin(2 * kPieceBytes, 1024);
  chunk(0, 0, 1024);
  transfer.report_pieces();
  EXPECT_EQ(transfer.newly_placed().total(), kPieceBytes);
  EXPECT_TRUE(transfer.newly_verified().empty());
  transfer.newly_placed().clear();
  digests();
  chunk(1, 0, 1024);
  EXPECT_EQ(transfer.newly_placed().intervals().front(),
            (base::Interval{kPieceBytes, 2 * kPieceBytes}));
  EXPECT_EQ(transfer.newly_verified().total(), 2 * kPieceBytes);
}

TEST(receive_transfer_by_reference, lengths_are_all_there_is_and_every_digest_matches) {
  ReceiveTransfer transfer(base::PayloadMode::reference);
  wire::Transfer frame;
  frame.bytes = 2000;
  frame.piece_log2 = kLog2;
  transfer.set_announcement(frame);
  transfer.hold_eagerly();
  ASSERT_TRUE(transfer.add_layout(0, {1000, 0, 2000}));
  EXPECT_EQ(transfer.on_chunk(0, 0, {{}, 1000, true}), Result::placed);
  EXPECT_EQ(transfer.on_chunk(0, 1, {{}, 999, true}), Result::wrong_size);
  EXPECT_EQ(transfer.on_chunk(0, 1, {{}, 1000, true}), Result::placed);
  const std::vector<std::byte> digests(16);
  transfer.on_digests(0, {digests, 16, false});
  EXPECT_TRUE(transfer.complete());
}

}  // namespace
}  // namespace longhaul::transfer
