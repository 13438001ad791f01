// SPDX-License-Identifier: Apache-2.0
// A path that carries less or more than before, and a source that grows.
#include <gtest/gtest.h>

#include "lib/base/interval_set.hpp"
#include "lib/transfer/send_transfer.hpp"
#include "tests/unit/transfer/requests.hpp"

namespace longhaul::transfer {
namespace {

struct RelayoutTest : testing::Test {
  std::vector<std::byte> bytes;
  std::optional<SendTransfer> transfer;
  std::vector<Layout> layouts;
  SendChunk chunk;
  base::IntervalSet left;
  std::uint64_t first_copies = 0;

  void make(std::size_t size, bool growing = false) {
    bytes = random_bytes(size);
    SendOptions options;
    options.growing = growing;
    transfer.emplace(send_request(bytes, 1, 1, options), 0, 7, base::PayloadMode::bytes);
  }
  SendTransfer::Next next(std::uint32_t payload_max) {
    auto result = transfer->next(payload_max, chunk);
    while (result == SendTransfer::Next::new_layout) {
      layouts.push_back(transfer->announced());
      EXPECT_EQ(transfer->announced_number(), layouts.size() - 1);
      result = transfer->next(payload_max, chunk);
    }
    if (result != SendTransfer::Next::chunk || chunk.digest) return result;
    EXPECT_LE(chunk.length, payload_max);
    EXPECT_EQ(layouts[chunk.layout].range(chunk.index),
              (base::Interval{chunk.offset, chunk.offset + chunk.length}));
    left.insert(chunk.offset, chunk.offset + chunk.length);
    if (chunk.first_copy) first_copies += chunk.length;
    return result;
  }
  bool next_chunk(std::uint32_t payload_max) {
    return next(payload_max) == SendTransfer::Next::chunk;
  }
};

TEST_F(RelayoutTest, a_path_that_carries_less_gets_a_layout_for_the_rest) {
  make(100'000);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(next_chunk(8000));
  while (next_chunk(1200)) {
  }
  ASSERT_EQ(layouts.size(), 2u);
  EXPECT_EQ(layouts[1].first, 24'000u);
  EXPECT_EQ(layouts[1].chunk_size, 1200u);
  EXPECT_TRUE(left.covers(0, 100'000));
  EXPECT_EQ(first_copies, 100'000u);
}

TEST_F(RelayoutTest, what_was_lost_in_large_chunks_leaves_again_in_small_ones) {
  make(100'000);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(next_chunk(8000));
  left.clear();
  transfer->on_lost(false, 0, 1);
  transfer->on_lost(false, 0, 4);
  while (next_chunk(1200)) {
  }
  EXPECT_TRUE(left.covers(8000, 16'000));
  EXPECT_TRUE(left.covers(32'000, 100'000));
  EXPECT_EQ(first_copies, 100'000u);
  EXPECT_LE(layouts.size(), 3u);
}

TEST_F(RelayoutTest, a_path_that_carries_more_gets_a_layout_for_what_has_not_left) {
  make(100'000);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(next_chunk(1200));
  ASSERT_TRUE(next_chunk(8000));
  EXPECT_EQ(chunk.length, 8000u);
  EXPECT_EQ(chunk.offset, 3600u);
}

TEST_F(RelayoutTest, a_little_more_room_is_not_worth_a_layout) {
  make(100'000);
  ASSERT_TRUE(next_chunk(1200));
  ASSERT_TRUE(next_chunk(1250));
  EXPECT_EQ(chunk.length, 1200u);
}

TEST_F(RelayoutTest, a_path_that_changes_for_ever_exhausts_the_numbers_only_by_shrinking) {
  make(4'000'000);
  // Growth stops asking for numbers well before they run out.
  for (int i = 0; i < 600; ++i)
    ASSERT_NE(next(i % 2 == 0 ? 1200 : 2400), SendTransfer::Next::nothing);
  EXPECT_LT(layouts.size(), 256u);
  auto result = SendTransfer::Next::chunk;
  for (std::uint32_t size = 1100; result == SendTransfer::Next::chunk && size > 600; --size)
    result = next(size);
  EXPECT_EQ(result, SendTransfer::Next::exhausted);
}

TEST_F(RelayoutTest, losses_in_any_order_after_a_change_cost_few_layouts) {
  make(1'000'000);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(next_chunk(8000));
  // Stragglers are found lost from the back to the front, with new bytes leaving between them.
  for (std::uint32_t index = 90; index > 0; --index) {
    transfer->on_lost(false, 0, index);
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(next_chunk(1200));
  }
  while (next_chunk(1200)) {
  }
  EXPECT_TRUE(left.covers(0, 1'000'000));
  EXPECT_EQ(first_copies, 1'000'000u);
  EXPECT_LT(layouts.size(), 128u);
}

TEST_F(RelayoutTest, a_growing_source_sends_only_what_is_valid) {
  make(10'000, true);
  EXPECT_EQ(next(1000), SendTransfer::Next::nothing);
  EXPECT_TRUE(transfer->idle());
  EXPECT_TRUE(transfer->waits_for_source());
  transfer->set_ready(2500);
  ASSERT_TRUE(next_chunk(1000));
  ASSERT_TRUE(next_chunk(1000));
  EXPECT_EQ(next(1000), SendTransfer::Next::nothing);
  EXPECT_EQ(transfer->left_once(), 2000u);
  transfer->set_ready(1000);  // a prefix never shrinks
  transfer->set_ready(3000);
  ASSERT_TRUE(next_chunk(1000));
  transfer->set_ready(UINT64_MAX);
  while (next_chunk(1000)) {
  }
  EXPECT_TRUE(transfer->all_left_once());
}

TEST_F(RelayoutTest, a_retransmission_in_another_layout_never_reads_beyond_what_is_valid) {
  make(100'000, true);
  transfer->set_ready(12'000);
  while (next_chunk(1000)) {
  }
  transfer->set_ready(19'500);
  while (next_chunk(7500)) {
  }
  ASSERT_TRUE(left.covers(0, 19'500));
  const std::uint64_t valid = 19'500;
  for (std::uint32_t index = 0; index < 12; ++index) transfer->on_lost(false, 0, index);
  transfer->on_lost(false, 1, 0);
  std::uint64_t again = 0;
  while (next_chunk(1000)) {
    ASSERT_LE(chunk.offset + chunk.length, valid);
    again += chunk.length;
  }
  EXPECT_GE(again, valid);
  // And the rest follows when it is there.
  transfer->set_ready(100'000);
  while (next_chunk(1000)) {
  }
  EXPECT_TRUE(left.covers(0, 100'000));
  EXPECT_EQ(first_copies, 100'000u);
}

TEST_F(RelayoutTest, more_chunks_than_an_index_can_name_take_several_layouts) {
  constexpr std::uint64_t kChunks = std::uint64_t{wire::kChunkIndexMax} + 1;
  const std::vector<std::byte> memory(kChunks + 5);
  SendTransfer large(send_request(memory), 0, 7, base::PayloadMode::reference);
  std::vector<Layout> announced;
  std::uint64_t expected = 0;
  for (;;) {
    const auto result = large.next(1, chunk);
    if (result == SendTransfer::Next::nothing) break;
    if (result == SendTransfer::Next::new_layout) announced.push_back(large.announced());
    if (result != SendTransfer::Next::chunk || chunk.digest) continue;
    ASSERT_EQ(chunk.offset, expected);
    expected += chunk.length;
  }
  EXPECT_EQ(expected, kChunks + 5);
  ASSERT_EQ(announced.size(), 2u);
  EXPECT_EQ(announced[0].length, kChunks);
  EXPECT_EQ(announced[1].first, kChunks);
  EXPECT_EQ(announced[1].length, 5u);
}

}  // namespace
}  // namespace longhaul::transfer
