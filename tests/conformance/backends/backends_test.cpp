// SPDX-License-Identifier: Apache-2.0
// What every backend promises (lib/io/backend.hpp), whatever it sends on.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tests/conformance/backends/factories.hpp"

namespace longhaul::io {
namespace {

using namespace std::chrono_literals;

const std::vector<BackendUnderTest>& backends() {
  static const std::vector<BackendUnderTest> table{
      {"sim", make_sim_pair},
      {"fault_over_sim", make_fault_over_sim_pair},
      {"kernel_mmsg", make_kernel_pair(KernelEngine::mmsg, KernelVariant::as_it_opens)},
      {"kernel_mmsg_ipv6", make_kernel_pair(KernelEngine::mmsg, KernelVariant::ipv6)},
      {"kernel_mmsg_without_trains",
       make_kernel_pair(KernelEngine::mmsg, KernelVariant::without_trains)},
      {"fault_over_kernel_mmsg", make_kernel_pair(KernelEngine::mmsg, KernelVariant::under_faults)},
      {"kernel_uring", make_kernel_pair(KernelEngine::io_uring, KernelVariant::as_it_opens)},
      {"kernel_uring_ipv6", make_kernel_pair(KernelEngine::io_uring, KernelVariant::ipv6)},
      {"kernel_uring_without_trains",
       make_kernel_pair(KernelEngine::io_uring, KernelVariant::without_trains)},
      {"fault_over_kernel_uring",
       make_kernel_pair(KernelEngine::io_uring, KernelVariant::under_faults)},
      {"kernel_uring_zero_copy",
       make_kernel_pair(KernelEngine::io_uring_zero_copy, KernelVariant::as_it_opens)},
      {"kernel_uring_zero_copy_ipv6",
       make_kernel_pair(KernelEngine::io_uring_zero_copy, KernelVariant::ipv6)},
  };
  return table;
}

/// A datagram received, with its own memory.
struct Got {
  std::vector<std::byte> bytes;
  SocketAddress remote;
  Timestamp received_at{};
  base::Ecn ecn{};
  std::uint8_t dscp = 0;
};

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> result(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    result[i] = static_cast<std::byte>((i * 31 + seed * 17 + (i >> 8)) & 0xff);
  }
  return result;
}

std::vector<std::byte> joined(std::span<const std::byte> head, std::span<const std::byte> payload) {
  std::vector<std::byte> result(head.size() + payload.size());
  std::copy(payload.begin(), payload.end(), std::copy(head.begin(), head.end(), result.begin()));
  return result;
}

class BackendConformance : public testing::TestWithParam<BackendUnderTest> {
 protected:
  void SetUp() override {
    std::string why_not;
    pair_ = GetParam().make(why_not);
    if (!pair_) GTEST_SKIP() << why_not;
  }
  Backend& left() { return pair_->left(); }
  Backend& right() { return pair_->right(); }
  Timestamp now() { return pair_->now(); }

  /// Sends all of them, however often that blocks, while the other side receives nothing.
  void send_all(Backend& from, std::span<const base::TxDatagram> burst) {
    for (int tries = 0; !burst.empty() && tries < 1000; ++tries) {
      const std::size_t sent = from.transmit(now(), burst);
      ASSERT_LE(sent, burst.size());
      burst = burst.subspan(sent);
      if (!burst.empty()) pair_->pass(1ms);
    }
    ASSERT_TRUE(burst.empty());
  }
  void send(Backend& from, const SocketAddress& to, std::vector<std::byte> head,
            std::span<const std::byte> payload = {}) {
    base::TxDatagram datagram;
    datagram.head = head;
    datagram.head_size = head.size();
    datagram.payload = payload;
    datagram.remote = to;
    send_all(from, {&datagram, 1});
  }
  /// Waits until the payload of what was sent may be changed.
  void release_payload(Backend& from) {
    bool released = from.release_payload();
    for (int tries = 0; !released && tries < 1000; ++tries) {
      pair_->pass(1ms);
      released = from.release_payload();
    }
    EXPECT_TRUE(released);
  }
  /// Receives until `count` are there or nothing more comes for a second.
  std::vector<Got> receive(Backend& at, std::size_t count, std::size_t burst_size = 16) {
    std::vector<Got> all;
    std::vector<base::RxDatagram> burst(burst_size);
    const Timestamp limit = now() + 1s;
    while (all.size() < count && now() < limit) {
      // The other one may have to release what it held back.
      Backend& other = &at == &left() ? right() : left();
      std::array<base::RxDatagram, 1> none;
      if (other.next_release() <= now()) {
        EXPECT_EQ(other.receive(now(), none), 0u);
      }
      const std::size_t got = at.receive(now(), burst);
      EXPECT_LE(got, burst.size());
      for (std::size_t i = 0; i < got; ++i) {
        const base::RxDatagram& d = burst[i];
        EXPECT_TRUE(d.reference.empty());
        EXPECT_FALSE(d.damaged);
        EXPECT_LE(d.received_at, now());
        all.push_back({{d.data.begin(), d.data.end()}, d.remote, d.received_at, d.ecn, d.dscp});
      }
      if (got == 0) pair_->pass(10ms);
    }
    return all;
  }

  std::unique_ptr<Pair> pair_;
};

TEST_P(BackendConformance, NamesItselfItsAddressAndItsLimits) {
  EXPECT_FALSE(left().capabilities().name.empty());
  EXPECT_GE(left().capabilities().burst_max, 1u);
  EXPECT_GE(left().capabilities().datagram_max, 1200u);
  EXPECT_LE(left().capabilities().datagram_max, 65507u);
  EXPECT_NE(left().local_address().port, 0);
  EXPECT_NE(left().local_address(), right().local_address());
}

TEST_P(BackendConformance, CarriesHeadAndPayloadAsOneDatagramWithItsSource) {
  const auto payload = pattern(1000, 1);
  send(left(), right().local_address(), pattern(22, 2), payload);
  const auto got = receive(right(), 1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].bytes, joined(pattern(22, 2), payload));
  EXPECT_EQ(got[0].remote, left().local_address());
}

TEST_P(BackendConformance, AnswersReachTheAddressADatagramCameFrom) {
  send(left(), right().local_address(), pattern(40, 1));
  const auto question = receive(right(), 1);
  ASSERT_EQ(question.size(), 1u);
  send(right(), question[0].remote, pattern(50, 2));
  const auto answer = receive(left(), 1);
  ASSERT_EQ(answer.size(), 1u);
  EXPECT_EQ(answer[0].bytes, pattern(50, 2));
}

TEST_P(BackendConformance, CarriesEverySizeUpToItsLargest) {
  const std::size_t largest = std::min<std::size_t>(left().capabilities().datagram_max,
                                                    right().capabilities().datagram_max);
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{64}, std::size_t{65}, std::size_t{256}, std::size_t{1200},
        std::min<std::size_t>(largest, 8972), largest}) {
    // All head, as a control packet; and nearly all payload, as a chunk.
    send(left(), right().local_address(), pattern(size, 1));
    auto got = receive(right(), 1);
    ASSERT_EQ(got.size(), 1u) << size;
    EXPECT_EQ(got[0].bytes, pattern(size, 1)) << size;
    const auto whole = pattern(size, 3);
    const std::size_t head = std::min<std::size_t>(size, 18);
    send(left(), right().local_address(),
         {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(head)},
         std::span(whole).subspan(head));
    got = receive(right(), 1);
    ASSERT_EQ(got.size(), 1u) << size;
    EXPECT_EQ(got[0].bytes, whole) << size;
  }
}

TEST_P(BackendConformance, KeepsTheOrderOfABurstOfManySizes) {
  constexpr std::size_t kCount = 100;
  std::vector<std::vector<std::byte>> heads;
  std::vector<base::TxDatagram> burst(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    // Runs of equal sizes, then a change: what segmentation offload groups and splits.
    heads.push_back(pattern(100 + 700 * ((i / 7) % 2), static_cast<unsigned>(i)));
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    burst[i].head = heads[i];
    burst[i].head_size = heads[i].size();
    burst[i].remote = right().local_address();
  }
  send_all(left(), burst);
  const auto got = receive(right(), kCount, 9);
  ASSERT_EQ(got.size(), kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(got[i].bytes, heads[i]) << i;
    EXPECT_GE(got[i].received_at, got[i == 0 ? 0 : i - 1].received_at);
  }
}

TEST_P(BackendConformance, SlotMemoryMayBeReusedAsSoonAsTransmitReturns) {
  std::vector<std::byte> head = pattern(30, 5);
  std::vector<std::byte> payload = pattern(900, 6);
  const auto expected = joined(head, payload);
  base::TxDatagram datagram;
  datagram.head = head;
  datagram.head_size = head.size();
  datagram.payload = payload;
  datagram.remote = right().local_address();
  send_all(left(), {&datagram, 1});
  std::fill(head.begin(), head.end(), std::byte{0xee});
  release_payload(left());
  std::fill(payload.begin(), payload.end(), std::byte{0xee});
  const auto got = receive(right(), 1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].bytes, expected);
}

TEST_P(BackendConformance, TensorMemoryMayChangeOnceTheBackendLetsItGo) {
  // Large neighbours of one size: what a backend would send as one message, and without a copy.
  constexpr std::size_t kCount = 40;
  const std::size_t size = std::min<std::size_t>(left().capabilities().datagram_max, 8000) - 30;
  for (int round = 0; round < 5; ++round) {
    std::vector<std::byte> tensor = pattern(kCount * size, static_cast<unsigned>(round));
    const std::vector<std::byte> expected = tensor;
    std::vector<std::vector<std::byte>> heads(kCount, pattern(30, 7));
    std::vector<base::TxDatagram> burst(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      heads[i][0] = static_cast<std::byte>(i);
      burst[i].head = heads[i];
      burst[i].head_size = heads[i].size();
      burst[i].payload = std::span(tensor).subspan(i * size, size);
      burst[i].remote = right().local_address();
    }
    send_all(left(), burst);
    for (auto& head : heads) std::fill(head.begin(), head.end(), std::byte{0xee});
    release_payload(left());
    std::fill(tensor.begin(), tensor.end(), std::byte{0xee});
    const auto got = receive(right(), kCount);
    ASSERT_EQ(got.size(), kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      auto head = pattern(30, 7);
      head[0] = static_cast<std::byte>(i);
      EXPECT_EQ(got[i].bytes, joined(head, std::span(expected).subspan(i * size, size))) << i;
    }
  }
}

TEST_P(BackendConformance, ReceivedMemoryIsWritableAndStaysUntilTheNextReceive) {
  for (unsigned i = 0; i < 3; ++i) send(left(), right().local_address(), pattern(200, i));
  std::vector<base::RxDatagram> burst(8);
  std::size_t count = 0;
  for (int tries = 0; tries < 100 && count == 0; ++tries) {
    pair_->pass(10ms);
    std::array<base::RxDatagram, 1> none;
    left().receive(now(), none);
    count = right().receive(now(), burst);
  }
  ASSERT_GT(count, 0u);
  // Traffic of the other direction does not touch it.
  for (unsigned i = 0; i < 20; ++i) send(right(), left().local_address(), pattern(300, i));
  for (std::size_t i = 0; i < count; ++i) {
    const auto expected = pattern(200, static_cast<unsigned>(i));
    ASSERT_TRUE(
        std::equal(expected.begin(), expected.end(), burst[i].data.begin(), burst[i].data.end()));
    std::fill(burst[i].data.begin(), burst[i].data.end(), std::byte{0});
  }
}

TEST_P(BackendConformance, MarksTravelIfItSaysSo) {
  base::TxDatagram datagram;
  auto head = pattern(50, 1);
  datagram.head = head;
  datagram.head_size = head.size();
  datagram.remote = right().local_address();
  const std::array<std::pair<base::Ecn, std::uint8_t>, 4> marks{{{base::Ecn::not_ect, 0},
                                                                 {base::Ecn::ect0, 10},
                                                                 {base::Ecn::ect1, 34},
                                                                 {base::Ecn::ect0, 48}}};
  for (const auto& [ecn, dscp] : marks) {
    datagram.ecn = ecn;
    datagram.dscp = dscp;
    send_all(left(), {&datagram, 1});
    const auto got = receive(right(), 1);
    ASSERT_EQ(got.size(), 1u);
    const bool has_ecn = left().capabilities().ecn && right().capabilities().ecn;
    const bool has_dscp = left().capabilities().dscp && right().capabilities().dscp;
    EXPECT_TRUE(!has_ecn || got[0].ecn == ecn);
    EXPECT_TRUE(!has_dscp || got[0].dscp == dscp);
  }
}

TEST_P(BackendConformance, DepartureTimesHoldIfItSaysSo) {
  if (!left().capabilities().departure_times) return;
  auto head = pattern(50, 1);
  base::TxDatagram datagram;
  datagram.head = head;
  datagram.head_size = head.size();
  datagram.remote = right().local_address();
  datagram.departure = now() + 20ms;
  const Timestamp departure = datagram.departure;
  send_all(left(), {&datagram, 1});
  const auto got = receive(right(), 1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_GE(got[0].received_at, departure);
}

TEST_P(BackendConformance, ADatagramThatCanNeverBeSentCountsAsSentAndIsDropped) {
  const std::size_t largest = left().capabilities().datagram_max;
  std::vector<std::byte> too_big(largest + 1);
  auto fine = pattern(60, 4);
  std::array<base::TxDatagram, 2> burst;
  burst[0].head = too_big;
  burst[0].head_size = too_big.size();
  burst[1].head = fine;
  burst[1].head_size = fine.size();
  for (auto& datagram : burst) datagram.remote = right().local_address();
  send_all(left(), burst);
  const auto got = receive(right(), 1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].bytes, fine);
  EXPECT_EQ(left().stats().too_big, 1u);
}

TEST_P(BackendConformance, CountsWhatItMoves) {
  for (unsigned i = 0; i < 10; ++i) send(left(), right().local_address(), pattern(100, i));
  EXPECT_EQ(receive(right(), 10).size(), 10u);
  EXPECT_EQ(left().stats().datagrams_sent, 10u);
  EXPECT_GE(left().stats().send_calls, 1u);
  EXPECT_EQ(right().stats().datagrams_received, 10u);
  EXPECT_GE(right().stats().receive_calls, 1u);
}

TEST_P(BackendConformance, EmptyBurstsDoNothing) {
  EXPECT_EQ(left().transmit(now(), {}), 0u);
  EXPECT_EQ(left().receive(now(), {}), 0u);
  send(left(), right().local_address(), pattern(10, 1));
  EXPECT_EQ(receive(right(), 1).size(), 1u);
}

TEST_P(BackendConformance, AcceptsRegisteredMemory) {
  std::vector<std::byte> memory = pattern(4096, 9);
  ASSERT_TRUE(left().register_memory(Region{}, memory));
  send(left(), right().local_address(), pattern(10, 1), std::span(memory).first(1000));
  EXPECT_EQ(receive(right(), 1).size(), 1u);
  left().unregister_memory(Region{});
}

TEST_P(BackendConformance, AWokenWaitDoesNotSleep) {
  const auto before = std::chrono::steady_clock::now();
  left().wake();
  left().wait(10s);
  EXPECT_LT(std::chrono::steady_clock::now() - before, 5s);
}

INSTANTIATE_TEST_SUITE_P(Backends, BackendConformance, testing::ValuesIn(backends()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace longhaul::io
