// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/send_transfer.hpp"

#include <gtest/gtest.h>

#include "lib/base/byte_reader.hpp"
#include "tests/unit/transfer/requests.hpp"

namespace longhaul::transfer {
namespace {

constexpr std::uint64_t kPiece = 1u << kPieceLog2;
constexpr std::uint64_t kGroup = wire::kPiecesPerGroup * kPiece;

struct SendTransferTest : testing::Test {
  std::vector<std::byte> bytes;
  std::optional<SendTransfer> transfer;
  SendChunk chunk;
  int layouts = 0;

  void make(std::size_t size, const SendOptions& options = {}, Dtype dtype = Dtype::u8) {
    bytes = random_bytes(size);
    SendRequest request = send_request(bytes, 1, 1, options);
    request.segments[0].dtype = dtype;
    transfer.emplace(std::move(request), 0, 7, base::PayloadMode::bytes);
  }
  // Next chunk, its layout announced on the way.
  SendTransfer::Next next(std::uint32_t payload_max) {
    auto result = transfer->next(payload_max, chunk);
    while (result == SendTransfer::Next::new_layout) {
      ++layouts;
      result = transfer->next(payload_max, chunk);
    }
    return result;
  }
  bool next_chunk(std::uint32_t payload_max) {
    return next(payload_max) == SendTransfer::Next::chunk;
  }
  void send_all(std::uint32_t payload_max) {
    while (next_chunk(payload_max)) {
    }
  }
  std::vector<std::uint64_t> digests(std::uint32_t group, std::size_t length) {
    std::vector<std::byte> out(length);
    transfer->write_digests(group, out);
    base::ByteReader reader(out);
    std::vector<std::uint64_t> result;
    while (reader.remaining() > 0) result.push_back(reader.u64());
    return result;
  }
  void expect_digests_of(std::uint32_t group) {
    const auto written = digests(group, chunk.length);
    for (std::size_t i = 0; i < written.size(); ++i) {
      const std::uint64_t begin = group * kGroup + i * kPiece;
      const std::uint64_t length = std::min(kPiece, bytes.size() - begin);
      ASSERT_EQ(written[i], digest(transfer->memory(), begin, length));
    }
  }
};

TEST_F(SendTransferTest, a_layout_is_announced_before_its_first_chunk) {
  make(3000);
  EXPECT_EQ(transfer->next(1000, chunk), SendTransfer::Next::new_layout);
  EXPECT_EQ(transfer->announced().chunk_size, 1000u);
  EXPECT_EQ(transfer->announced().first, 0u);
  EXPECT_EQ(transfer->announced().length, 3000u);
  EXPECT_EQ(transfer->announced_number(), 0u);
  EXPECT_EQ(transfer->next(1000, chunk), SendTransfer::Next::chunk);
}

TEST_F(SendTransferTest, chunks_leave_in_memory_order_and_the_last_is_short) {
  make(2500);
  for (std::uint64_t begin = 0; begin < 2500; begin += 1000) {
    ASSERT_TRUE(next_chunk(1000));
    EXPECT_FALSE(chunk.digest);
    EXPECT_TRUE(chunk.first_copy);
    EXPECT_EQ(chunk.offset, begin);
    EXPECT_EQ(chunk.index, begin / 1000);
    EXPECT_EQ(chunk.length, std::min<std::uint64_t>(1000, 2500 - begin));
  }
  ASSERT_TRUE(next_chunk(1000));
  EXPECT_TRUE(chunk.digest);
  EXPECT_TRUE(transfer->idle());
  EXPECT_TRUE(transfer->all_left_once());
  EXPECT_EQ(next(1000), SendTransfer::Next::nothing);
}

TEST_F(SendTransferTest, an_empty_tensor_has_nothing_to_send) {
  make(0);
  EXPECT_TRUE(transfer->idle());
  EXPECT_EQ(next(1000), SendTransfer::Next::nothing);
}

TEST_F(SendTransferTest, chunks_hold_whole_elements) {
  make(4096, {}, Dtype::f64);
  ASSERT_TRUE(next_chunk(1001));
  EXPECT_EQ(chunk.length, 1000u);
}

TEST_F(SendTransferTest, digests_leave_right_behind_the_group_they_cover) {
  make(2 * kGroup + kPiece + 5);
  std::uint64_t covered = 0;
  std::uint32_t groups = 0;
  while (next_chunk(8192)) {
    if (!chunk.digest) {
      // A group that is complete has left before any later byte does.
      ASSERT_GE((groups + 1) * kGroup, chunk.offset);
      covered = chunk.offset + chunk.length;
      continue;
    }
    EXPECT_EQ(chunk.index, groups);
    EXPECT_GE(covered, std::min<std::uint64_t>((groups + 1) * kGroup, bytes.size()));
    expect_digests_of(groups);
    ++groups;
  }
  EXPECT_EQ(groups, 3u);
  EXPECT_EQ(chunk.length, 2 * wire::kDigestBytes);
}

TEST_F(SendTransferTest, a_chunk_that_ends_two_groups_sends_the_digests_of_both) {
  make(kGroup + 100);
  std::vector<std::uint32_t> groups;
  while (next_chunk(60'000)) {
    if (!chunk.digest) continue;
    groups.push_back(chunk.index);
    expect_digests_of(chunk.index);
  }
  std::ranges::sort(groups);
  EXPECT_EQ(groups, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(transfer->all_left_once());
}

TEST_F(SendTransferTest, not_everything_has_left_once_while_a_digest_waits) {
  make(kGroup + 100);
  while (transfer->left_once() < bytes.size()) ASSERT_TRUE(next_chunk(60'000));
  ASSERT_TRUE(next_chunk(60'000));
  EXPECT_TRUE(chunk.digest);
  EXPECT_FALSE(transfer->all_left_once());
  ASSERT_TRUE(next_chunk(60'000));
  EXPECT_TRUE(transfer->all_left_once());
}

TEST_F(SendTransferTest, a_lost_chunk_leaves_again_once_and_before_new_bytes) {
  make(5000);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(next_chunk(1000));
  transfer->on_lost(false, 0, 1);
  transfer->on_lost(false, 0, 1);
  EXPECT_FALSE(transfer->idle());
  ASSERT_TRUE(next_chunk(1000));
  EXPECT_EQ(chunk.offset, 1000u);
  EXPECT_FALSE(chunk.first_copy);
  ASSERT_TRUE(next_chunk(1000));
  EXPECT_EQ(chunk.offset, 3000u);
}

TEST_F(SendTransferTest, a_lost_digest_leaves_again_once) {
  make(1000);
  send_all(1000);
  transfer->on_lost(true, 0, 0);
  transfer->on_lost(true, 0, 0);
  ASSERT_TRUE(next_chunk(1000));
  EXPECT_TRUE(chunk.digest);
  expect_digests_of(0);
  EXPECT_TRUE(transfer->idle());
}

TEST_F(SendTransferTest, a_lost_digest_of_an_early_group_is_right_later_too) {
  make(2 * kGroup + 100);
  send_all(9000);
  transfer->on_lost(true, 0, 0);
  ASSERT_TRUE(next_chunk(9000));
  EXPECT_EQ(chunk.index, 0u);
  expect_digests_of(0);
}

TEST_F(SendTransferTest, best_effort_sends_nothing_twice) {
  make(3000, {.reliability = Reliability::best_effort});
  send_all(1000);
  transfer->on_lost(false, 0, 0);
  transfer->on_lost(true, 0, 0);
  EXPECT_TRUE(transfer->idle());
}

TEST_F(SendTransferTest, a_piece_asked_for_again_leaves_with_its_digests) {
  make(3 * kPiece);
  send_all(8192);
  ASSERT_TRUE(transfer->refetch(kPiece, kPiece));
  std::uint64_t sent = 0;
  bool digest_sent = false;
  while (next_chunk(8192)) {
    digest_sent = digest_sent || chunk.digest;
    if (!chunk.digest) {
      EXPECT_GE(chunk.offset, kPiece);
      EXPECT_LE(chunk.offset + chunk.length, 2 * kPiece);
      sent += chunk.length;
    }
  }
  EXPECT_EQ(sent, kPiece);
  EXPECT_TRUE(digest_sent);
}

TEST_F(SendTransferTest, what_never_left_is_not_asked_for_again) {
  make(3 * kPiece);
  while (transfer->left_once() < kPiece) ASSERT_TRUE(next_chunk(8192));
  EXPECT_TRUE(transfer->refetch(0, kPiece));
  EXPECT_FALSE(transfer->refetch(kPiece, kPiece));
  EXPECT_FALSE(transfer->refetch(0, UINT64_MAX));
  EXPECT_FALSE(transfer->refetch(UINT64_MAX, 2));
}

TEST_F(SendTransferTest, nothing_at_all_is_not_asked_for) {
  make(3 * kPiece);
  send_all(8192);
  EXPECT_FALSE(transfer->refetch(0, 0));
  EXPECT_FALSE(transfer->refetch(bytes.size(), 0));
  EXPECT_TRUE(transfer->idle());
}

TEST_F(SendTransferTest, asking_often_for_the_same_bytes_costs_one_copy) {
  make(2 * kGroup);
  send_all(9000);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(transfer->refetch(0, bytes.size()));
  std::uint64_t sent = 0;
  int digests_sent = 0;
  while (next_chunk(9000)) (chunk.digest ? ++digests_sent : static_cast<int>(sent += chunk.length));
  EXPECT_EQ(sent, bytes.size());
  EXPECT_EQ(digests_sent, 2);
}

}  // namespace
}  // namespace longhaul::transfer
