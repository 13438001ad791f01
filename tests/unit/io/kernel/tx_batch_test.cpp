// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/tx_batch.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/unit/io/kernel/support.hpp"

namespace longhaul::io::kernel {
namespace {

using test::Burst;
using test::ipv4;

const SocketAddress kPeer = ipv4(192, 0, 2, 1, 5201);

/// Datagrams per message once `burst` is in a batch.
std::vector<std::size_t> groups(const Burst& burst, bool segmentation = true) {
  const auto batch = std::make_unique<TxBatch>();
  batch->fill(burst.datagrams(), {.segmentation = segmentation});
  std::vector<std::size_t> counts;
  for (std::size_t i = 0; i < batch->messages().size(); ++i) counts.push_back(batch->datagrams(i));
  return counts;
}

Burst burst_of(std::initializer_list<std::size_t> sizes) {
  Burst burst;
  for (const std::size_t size : sizes) burst.add(kPeer, size);
  return burst;
}

using Counts = std::vector<std::size_t>;

TEST(TxBatchTest, NeighboursOfOneSizeBecomeOneMessage) {
  EXPECT_EQ(groups(burst_of({900, 900, 900})), Counts{3});
}

TEST(TxBatchTest, AShorterDatagramEndsItsMessage) {
  EXPECT_EQ(groups(burst_of({900, 900, 899, 899, 900})), (Counts{3, 1, 1}));
}

TEST(TxBatchTest, ALongerDatagramStartsAMessage) {
  EXPECT_EQ(groups(burst_of({900, 900, 901, 901})), (Counts{2, 2}));
}

TEST(TxBatchTest, AnEmptyDatagramStandsAlone) {
  EXPECT_EQ(groups(burst_of({900, 0, 0, 900, 900})), (Counts{1, 1, 1, 2}));
}

TEST(TxBatchTest, AnotherDestinationOrMarkStartsAMessage) {
  Burst burst;
  burst.add(kPeer, 500);
  burst.add(kPeer, 500, {.dscp = 10});
  burst.add(kPeer, 500, {.dscp = 10});
  burst.add(kPeer, 500, {.ecn = base::Ecn::ect0, .dscp = 10});
  burst.add(ipv4(192, 0, 2, 2, 5201), 500, {.ecn = base::Ecn::ect0, .dscp = 10});
  burst.add(ipv4(192, 0, 2, 2, 5202), 500, {.ecn = base::Ecn::ect0, .dscp = 10});
  EXPECT_EQ(groups(burst), (Counts{1, 2, 1, 1, 1}));
}

TEST(TxBatchTest, NoMessageHasMoreThan64DatagramsOrMoreBytesThanOnePacket) {
  Burst small;
  for (int i = 0; i < 130; ++i) small.add(kPeer, 100);
  EXPECT_EQ(groups(small), (Counts{64, 64, 2}));
  Burst large;
  for (int i = 0; i < 50; ++i) large.add(kPeer, 1472);
  EXPECT_EQ(groups(large), (Counts{44, 6}));
  EXPECT_EQ(groups(burst_of({32753, 32754})), (Counts{1, 1}));
  EXPECT_EQ(groups(burst_of({32754, 32753})), Counts{2});
  EXPECT_EQ(groups(burst_of({32754, 32754})), (Counts{1, 1}));
}

TEST(TxBatchTest, WithoutSegmentationEveryDatagramIsAMessage) {
  EXPECT_EQ(groups(burst_of({900, 900, 900}), false), (Counts{1, 1, 1}));
}

TEST(TxBatchTest, TakesAPrefixOfABurstThatDoesNotFit) {
  const auto batch = std::make_unique<TxBatch>();
  Burst burst;
  for (int i = 0; i < 300; ++i) burst.add(kPeer, 100);
  EXPECT_EQ(batch->fill(burst.datagrams(), {.segmentation = false}), TxBatch::kMessagesMax);
  EXPECT_EQ(batch->fill(burst.datagrams(), {}), TxBatch::kDatagramsMax);
  EXPECT_EQ(batch->fill({}, TrainLimits{}), 0U);
  EXPECT_TRUE(batch->messages().empty());
}

TEST(TxBatchTest, WhatIsNotCopiedFitsThePageListOfOnePacket) {
  const auto batch = std::make_unique<TxBatch>();
  const TrainLimits limits{.uncopied_payload_min = 4096, .fragments_max = 16};
  Burst large;
  for (int i = 0; i < 12; ++i) large.add(kPeer, 8028);
  batch->fill(large.datagrams(), limits);
  std::size_t next = 0;
  for (std::size_t i = 0; i < batch->messages().size(); ++i) {
    std::size_t fragments = 0;
    for (std::size_t k = 0; k < batch->datagrams(i); ++k) {
      fragments += fragments_of(large.datagrams()[next++]);
    }
    EXPECT_GE(batch->datagrams(i), i + 1 < batch->messages().size() ? 4U : 1U);
    EXPECT_LE(fragments, 16U);
  }
  EXPECT_EQ(next, large.size());
  // What is copied anyway is not cut short for it.
  Burst small;
  for (int i = 0; i < 40; ++i) small.add(kPeer, 1472);
  batch->fill(small.datagrams(), limits);
  EXPECT_EQ(batch->messages().size(), 1U);
}

TEST(TxBatchTest, CountsThePagesADatagramTouches) {
  alignas(4096) static std::array<std::byte, 3 * 4096> memory;
  std::array<std::byte, 8> head{};
  base::TxDatagram datagram;
  datagram.payload = std::span(memory).first(4096);
  EXPECT_EQ(fragments_of(datagram), 1U);
  datagram.payload = std::span(memory).subspan(1, 4096);
  EXPECT_EQ(fragments_of(datagram), 2U);
  datagram.payload = std::span(memory).subspan(4095, 4098);
  EXPECT_EQ(fragments_of(datagram), 3U);
  datagram.head = head;
  datagram.head_size = head.size();
  EXPECT_EQ(fragments_of(datagram), 4U);
  datagram.payload = {};
  EXPECT_EQ(fragments_of(datagram), 1U);
}

TEST(TxBatchTest, PointsAtTheCallersMemoryAndCopiesNone) {
  const auto batch = std::make_unique<TxBatch>();
  const Burst burst = burst_of({900, 900});
  batch->fill(burst.datagrams(), {});
  const msghdr& header = batch->messages().front().msg_hdr;
  ASSERT_EQ(header.msg_iovlen, 4U);
  for (std::size_t i = 0; i < 2; ++i) {
    const base::TxDatagram& datagram = burst.datagrams()[i];
    EXPECT_EQ(header.msg_iov[2 * i].iov_base, datagram.head.data());
    EXPECT_EQ(header.msg_iov[2 * i].iov_len, datagram.head_size);
    EXPECT_EQ(header.msg_iov[2 * i + 1].iov_base, datagram.payload.data());
    EXPECT_EQ(header.msg_iov[2 * i + 1].iov_len, datagram.payload.size());
  }
}

}  // namespace
}  // namespace longhaul::io::kernel
