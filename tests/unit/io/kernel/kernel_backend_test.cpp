// SPDX-License-Identifier: Apache-2.0
// The backend over real sockets on the loopback interface, both families.
#include "lib/io/kernel/kernel_backend.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "tests/unit/io/kernel/support.hpp"

namespace longhaul::io::kernel {
namespace {

using namespace std::chrono_literals;
using test::Arrival;
using test::Burst;
using test::Bytes;
using test::collect;
using test::open_backend;

struct Variant {
  std::string name;
  AddressFamily family;
  EngineChoice engine;
};

class KernelBackendTest : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    if (family() == AddressFamily::ipv6 && !test::has_ipv6()) {
      GTEST_SKIP() << "needs IPv6 on the loopback interface";
    }
    sender_ = test::open_loopback(family(), engine());
    receiver_ = test::open_loopback(family(), engine());
    ASSERT_TRUE(sender_ && receiver_);
    remote_ = receiver_->local_address();
  }

  static AddressFamily family() { return GetParam().family; }
  static EngineChoice engine() { return GetParam().engine; }

  void send_all(const Burst& burst) {
    ASSERT_EQ(sender_->transmit(test::now(), burst.datagrams()), burst.size());
  }

  void expect_exactly(const Burst& burst, const std::vector<Arrival>& arrivals) {
    ASSERT_EQ(arrivals.size(), burst.size());
    for (std::size_t i = 0; i < burst.size(); ++i) {
      const base::TxDatagram& sent = burst.datagrams()[i];
      EXPECT_EQ(arrivals[i].content, burst.content(i)) << "datagram " << i;
      EXPECT_EQ(arrivals[i].remote, sender_->local_address()) << "datagram " << i;
      EXPECT_EQ(arrivals[i].ecn, sent.ecn) << "datagram " << i;
      EXPECT_EQ(arrivals[i].dscp, sent.dscp) << "datagram " << i;
    }
  }

  std::unique_ptr<Backend> sender_;
  std::unique_ptr<Backend> receiver_;
  SocketAddress remote_;
};

TEST_P(KernelBackendTest, RefusalsAreToldWhileSomebodyAsksForThem) {
  SocketAddress closed = remote_;
  receiver_.reset();
  std::array<base::Refusal, 16> refused;
  const auto ask = [&] {
    Burst burst;
    for (int i = 0; i < 3; ++i) burst.add(closed, 10);
    send_all(burst);
    sender_->wait(50ms);
    std::array<base::RxDatagram, 4> none;
    EXPECT_EQ(sender_->receive(test::now(), none), 0U);
    return sender_->take_refusals(refused);
  };
  EXPECT_EQ(ask(), 0U) << "nobody asked";
  sender_->watch_refusals(true);
  ASSERT_GE(ask(), 1U);
  EXPECT_EQ(refused[0].peer, closed);
  EXPECT_EQ(refused[0].cause, base::Hindrance::port_closed);
  EXPECT_EQ(sender_->take_refusals(refused), 0U) << "each once";
  for (int i = 0; i < 20; ++i) ask();
  // What is not taken is bounded, and going away leaves nothing behind.
  Burst burst;
  for (int i = 0; i < 40; ++i) burst.add(closed, 10);
  send_all(burst);
  sender_->wait(50ms);
  sender_->watch_refusals(false);
  EXPECT_EQ(sender_->take_refusals(refused), 0U);
  EXPECT_EQ(ask(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Variants, KernelBackendTest,
    testing::Values(Variant{"mmsg_ipv4", AddressFamily::ipv4, EngineChoice::mmsg},
                    Variant{"mmsg_ipv6", AddressFamily::ipv6, EngineChoice::mmsg},
                    Variant{"io_uring_ipv4", AddressFamily::ipv4, EngineChoice::io_uring},
                    Variant{"io_uring_ipv6", AddressFamily::ipv6, EngineChoice::io_uring},
                    Variant{"zero_copy_ipv4", AddressFamily::ipv4,
                            EngineChoice::io_uring_zero_copy}),
    [](const auto& variant) { return variant.param.name; });

TEST_P(KernelBackendTest, SaysWhatItCanDo) {
  const Capabilities& capabilities = sender_->capabilities();
  EXPECT_EQ(capabilities.name, "kernel");
  EXPECT_TRUE(capabilities.ecn);
  EXPECT_TRUE(capabilities.dscp);
  EXPECT_TRUE(capabilities.wakes);
  EXPECT_FALSE(capabilities.departure_times);
  // 65,536 of interface MTU less IPv6 and UDP headers; IPv4 is bounded by its own length field.
  EXPECT_EQ(capabilities.datagram_max, family() == AddressFamily::ipv4 ? 65507U : 65488U);
}

TEST_P(KernelBackendTest, DscpAndEcnArriveWithEveryDatagram) {
  Burst burst;
  for (unsigned dscp = 0; dscp < 64; ++dscp) {
    for (unsigned ecn = 0; ecn < 4; ++ecn) {
      burst.add(remote_, 100,
                {.ecn = static_cast<base::Ecn>(ecn), .dscp = static_cast<std::uint8_t>(dscp)});
    }
  }
  send_all(burst);
  expect_exactly(burst, collect(*receiver_, burst.size()));
}

TEST_P(KernelBackendTest, MarksOfASegmentedTrainReachEveryDatagramOfIt) {
  Burst burst;
  for (int i = 0; i < 40; ++i) burst.add(remote_, 1200, {.ecn = base::Ecn::ect0, .dscp = 46});
  send_all(burst);
  expect_exactly(burst, collect(*receiver_, burst.size()));
  EXPECT_EQ(sender_->stats().send_calls, 1U);
}

TEST_P(KernelBackendTest, BurstsOfMixedSizesArriveExactlyAndInOrder) {
  Burst burst;
  const std::array<std::size_t, 7> sizes{1400, 1400, 700, 700, 1, 1400, 9000};
  for (std::size_t i = 0; i < 300; ++i) {
    // Runs of equal sizes, a shorter one at the end of a run, a longer one in the middle.
    burst.add(remote_, sizes[(i / 3 + i % 2) % sizes.size()]);
  }
  send_all(burst);
  expect_exactly(burst, collect(*receiver_, burst.size()));
  EXPECT_EQ(sender_->stats().datagrams_sent, burst.size());
  EXPECT_EQ(receiver_->stats().datagrams_received, burst.size());
}

TEST_P(KernelBackendTest, ATrainLongerThanOneMessageIsCutAndArrivesWhole) {
  Burst burst;
  for (int i = 0; i < 500; ++i) burst.add(remote_, 1472);
  send_all(burst);
  expect_exactly(burst, collect(*receiver_, burst.size()));
}

TEST_P(KernelBackendTest, AJoinedMessageLargerThanTheCallersRoomIsHandedOutOverSeveralCalls) {
  Burst burst;
  for (int i = 0; i < 40; ++i) burst.add(remote_, 1000);
  burst.add(remote_, 333);
  send_all(burst);
  expect_exactly(burst, collect(*receiver_, burst.size(), 7));
  // One message came in; the other calls had no need of the system.
  EXPECT_EQ(receiver_->stats().receive_calls, 1U);
}

TEST_P(KernelBackendTest, WhatIsLeftOfAJoinedMessageEndsAWaitAtOnce) {
  Burst burst;
  for (int i = 0; i < 10; ++i) burst.add(remote_, 1000);
  send_all(burst);
  std::array<base::RxDatagram, 4> out;
  ASSERT_EQ(receiver_->receive(test::now(), out), 4U);
  const Timestamp before = test::now();
  receiver_->wait(10s);
  EXPECT_LT(test::now() - before, 2s);
}

TEST_P(KernelBackendTest, DatagramsReadTogetherCarryTheTimeTheyWereRead) {
  Burst burst;
  for (int i = 0; i < 10; ++i) burst.add(remote_, 1000);
  send_all(burst);
  const Timestamp read_at = Timestamp(1234567ns);
  std::array<base::RxDatagram, 4> out;
  ASSERT_EQ(receiver_->receive(read_at, out), 4U);
  EXPECT_EQ(out[0].received_at, read_at);
  ASSERT_EQ(receiver_->receive(read_at + 5ms, out), 4U);
  EXPECT_EQ(out[0].received_at, read_at);
}

TEST_P(KernelBackendTest, HandsOutMemoryThatMayBeWritten) {
  Burst burst;
  for (int i = 0; i < 3; ++i) burst.add(remote_, 1000);
  send_all(burst);
  std::array<base::RxDatagram, 1> out;
  ASSERT_EQ(receiver_->receive(test::now(), out), 1U);
  std::ranges::fill(out[0].data, std::byte{0xee});
  const auto rest = collect(*receiver_, 2);
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[0].content, burst.content(1));
  EXPECT_EQ(rest[1].content, burst.content(2));
}

TEST_P(KernelBackendTest, EmptyDatagramsArriveAsEmptyDatagrams) {
  Burst burst;
  burst.add(remote_, 500);
  burst.add(remote_, 0);
  burst.add(remote_, 0);
  burst.add(remote_, 500);
  burst.add(remote_, 500);
  burst.add(remote_, 0);
  send_all(burst);
  expect_exactly(burst, collect(*receiver_, burst.size()));
}

TEST_P(KernelBackendTest, HeadAloneAndPayloadAloneArrive) {
  Burst burst;
  burst.add(remote_, test::pattern(64, 1), {});
  burst.add(remote_, {}, test::pattern(64, 2));
  burst.add(remote_, test::pattern(30, 3), test::pattern(34, 4));
  send_all(burst);
  expect_exactly(burst, collect(*receiver_, burst.size()));
}

TEST_P(KernelBackendTest, OnlyTheUsedPartOfAHeadIsSent) {
  Bytes head = test::pattern(100, 1);
  base::TxDatagram datagram;
  datagram.head = head;
  datagram.head_size = 10;
  datagram.remote = remote_;
  ASSERT_EQ(sender_->transmit(test::now(), {&datagram, 1}), 1U);
  const auto arrivals = collect(*receiver_, 1);
  ASSERT_EQ(arrivals.size(), 1U);
  EXPECT_EQ(arrivals[0].content, Bytes(head.begin(), head.begin() + 10));
}

TEST_P(KernelBackendTest, TheLargestDatagramArrives) {
  Burst burst;
  const std::size_t largest = sender_->capabilities().datagram_max;
  burst.add(remote_, largest);
  burst.add(remote_, largest);
  send_all(burst);
  expect_exactly(burst, collect(*receiver_, burst.size()));
}

TEST_P(KernelBackendTest, ADatagramAboveTheInterfaceMtuIsDroppedAndCountedAndTheRestGoesOn) {
  const std::size_t largest = sender_->capabilities().datagram_max;
  Burst burst;
  burst.add(remote_, 100);
  burst.add(remote_, largest + 1);
  burst.add(remote_, 70000);
  burst.add(remote_, 200);
  send_all(burst);
  const auto arrivals = collect(*receiver_, 2);
  ASSERT_EQ(arrivals.size(), 2U);
  EXPECT_EQ(arrivals[0].content, burst.content(0));
  EXPECT_EQ(arrivals[1].content, burst.content(3));
  EXPECT_EQ(sender_->stats().too_big, 2U);
  std::array<base::TooBig, 4> refused;
  ASSERT_EQ(sender_->take_too_big(refused), 2U);
  EXPECT_EQ(refused[0].size, largest + 1);
  EXPECT_EQ(refused[1].size, 70000U);
  EXPECT_EQ(refused[1].peer, remote_);
  EXPECT_EQ(sender_->take_too_big(refused), 0U);
  EXPECT_EQ(sender_->stats().datagrams_sent, 2U);
  EXPECT_EQ(sender_->stats().send_errors, 0U);
}

TEST_P(KernelBackendTest, AlternatingDestinationsEachGetTheirOwn) {
  const auto other = test::open_loopback(family(), engine());
  ASSERT_TRUE(other);
  Burst burst;
  for (int i = 0; i < 100; ++i) {
    burst.add(i % 2 == 0 ? remote_ : other->local_address(), 800);
  }
  send_all(burst);
  const auto even = collect(*receiver_, 50);
  const auto odd = collect(*other, 50);
  ASSERT_EQ(even.size(), 50U);
  ASSERT_EQ(odd.size(), 50U);
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(even[i].content, burst.content(2 * i));
    EXPECT_EQ(odd[i].content, burst.content(2 * i + 1));
  }
}

TEST_P(KernelBackendTest, AClosedPeerPortStopsNeitherSendingNorReceiving) {
  SocketAddress closed;
  {
    const auto gone = test::open_loopback(family(), engine());
    ASSERT_TRUE(gone);
    closed = gone->local_address();
  }
  for (int round = 0; round < 20; ++round) {
    Burst burst;
    for (int i = 0; i < 8; ++i) burst.add(i % 2 == 0 ? closed : remote_, 300);
    send_all(burst);
    EXPECT_EQ(collect(*receiver_, 4).size(), 4U);
    std::array<base::RxDatagram, 8> out;
    EXPECT_EQ(sender_->receive(test::now(), out), 0U);
  }
  // The peers still reach the sender.
  Burst answer;
  answer.add(sender_->local_address(), 50);
  ASSERT_EQ(receiver_->transmit(test::now(), answer.datagrams()), 1U);
  EXPECT_EQ(collect(*sender_, 1).size(), 1U);
}

TEST_P(KernelBackendTest, ADestinationOfTheOtherFamilyIsDroppedAndCounted) {
  const bool ipv4 = family() == AddressFamily::ipv4;
  Burst burst;
  burst.add(remote_, 10);
  burst.add(test::loopback(ipv4 ? AddressFamily::ipv6 : AddressFamily::ipv4, 9), 10);
  burst.add(remote_, 20);
  send_all(burst);
  EXPECT_EQ(collect(*receiver_, 2).size(), 2U);
  EXPECT_EQ(sender_->stats().send_errors, 1U);
}

TEST_P(KernelBackendTest, ABurstLargerThanTheReceiveBufferIsCountedWhereItIsLost) {
  const auto small = open_backend({.local = test::loopback(family()),
                                   .receive_buffer = 64U << 10U,
                                   .coalescing = false,
                                   .engine = engine()});
  ASSERT_TRUE(small);
  Burst burst;
  for (int i = 0; i < 400; ++i) {
    // Different sizes, so that every datagram is a message of its own.
    burst.add(small->local_address(), 1000 + static_cast<std::size_t>(i));
  }
  send_all(burst);
  const std::size_t arrived = collect(*small, burst.size(), 64, 200ms).size();
  EXPECT_GT(arrived, 0U);
  EXPECT_LT(arrived, burst.size());

  // The system reports its losses with the next datagram that gets through.
  Burst next;
  next.add(small->local_address(), 10);
  send_all(next);
  ASSERT_EQ(collect(*small, 1).size(), 1U);
  EXPECT_EQ(arrived + small->stats().receive_dropped, burst.size());
}

TEST_P(KernelBackendTest, WithoutSegmentationOrCoalescingTheSameArrives) {
  const auto plain_sender =
      open_backend({.local = test::loopback(family()), .segmentation = false, .engine = engine()});
  const auto plain_receiver =
      open_backend({.local = test::loopback(family()), .coalescing = false, .engine = engine()});
  ASSERT_TRUE(plain_sender && plain_receiver);
  for (Backend* from : {sender_.get(), plain_sender.get()}) {
    for (Backend* to : {receiver_.get(), plain_receiver.get()}) {
      Burst burst;
      for (int i = 0; i < 200; ++i) burst.add(to->local_address(), 1400, {base::Ecn::ce, 10});
      burst.add(to->local_address(), 99, {base::Ecn::ect1, 34});
      ASSERT_EQ(from->transmit(test::now(), burst.datagrams()), burst.size());
      const auto arrivals = collect(*to, burst.size());
      ASSERT_EQ(arrivals.size(), burst.size());
      for (std::size_t i = 0; i < burst.size(); ++i) {
        EXPECT_EQ(arrivals[i].content, burst.content(i));
        EXPECT_EQ(arrivals[i].dscp, burst.datagrams()[i].dscp);
        EXPECT_EQ(arrivals[i].ecn, burst.datagrams()[i].ecn);
      }
    }
  }
}

TEST_P(KernelBackendTest, SegmentationSavesSystemCalls) {
  Burst burst;
  for (int i = 0; i < 256; ++i) burst.add(remote_, 200);
  send_all(burst);
  EXPECT_EQ(sender_->stats().send_calls, 1U);
  expect_exactly(burst, collect(*receiver_, burst.size()));
  EXPECT_LE(receiver_->stats().receive_calls, 8U);
}

TEST_P(KernelBackendTest, EmptyBurstsAndEmptyRoomCostNothing) {
  std::span<const base::TxDatagram> nothing;
  EXPECT_EQ(sender_->transmit(test::now(), nothing), 0U);
  EXPECT_EQ(receiver_->receive(test::now(), {}), 0U);
  EXPECT_EQ(sender_->stats().send_calls, 0U);
  EXPECT_EQ(receiver_->stats().receive_calls, 0U);
}

TEST_P(KernelBackendTest, ADatagramEndsAWait) {
  std::thread peer([&] {
    std::this_thread::sleep_for(30ms);
    Burst burst;
    burst.add(remote_, 10);
    send_all(burst);
  });
  const Timestamp before = test::now();
  receiver_->wait(20s);
  const Duration waited = test::now() - before;
  peer.join();
  EXPECT_LT(waited, 10s);
  EXPECT_EQ(collect(*receiver_, 1).size(), 1U);
}

TEST_P(KernelBackendTest, AWaitLastsAsLongAsItWasToldWhenNothingHappens) {
  const Timestamp before = test::now();
  receiver_->wait(30ms);
  const Duration waited = test::now() - before;
  EXPECT_GE(waited, 29ms);
  EXPECT_LT(waited, 5s);
}

TEST_P(KernelBackendTest, AfterABatchOfSendsAndReceivesAWaitSleeps) {
  Burst burst;
  for (std::size_t i = 0; i < 100; ++i) burst.add(remote_, 300 + i);
  Burst answer;
  for (std::size_t i = 0; i < 100; ++i) answer.add(sender_->local_address(), 300 + i);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(receiver_->transmit(test::now(), answer.datagrams()), answer.size());
    send_all(burst);
    expect_exactly(burst, collect(*receiver_, burst.size()));
    ASSERT_EQ(collect(*sender_, answer.size()).size(), answer.size());
  }
  for (Backend* backend : {sender_.get(), receiver_.get()}) {
    const Timestamp before = test::now();
    backend->wait(40ms);
    EXPECT_GE(test::now() - before, 35ms);
  }
}

TEST_P(KernelBackendTest, WakeFromAnotherThreadEndsAWait) {
  std::thread peer([&] {
    std::this_thread::sleep_for(30ms);
    receiver_->wake();
  });
  const Timestamp before = test::now();
  receiver_->wait(20s);
  const Duration waited = test::now() - before;
  peer.join();
  EXPECT_LT(waited, 10s);
}

TEST_P(KernelBackendTest, AWakeBeforeTheWaitEndsItAndOnlyIt) {
  receiver_->wake();
  receiver_->wake();
  Timestamp before = test::now();
  receiver_->wait(20s);
  EXPECT_LT(test::now() - before, 10s);
  before = test::now();
  receiver_->wait(40ms);
  EXPECT_GE(test::now() - before, 35ms);
}

TEST_P(KernelBackendTest, AcceptsMemoryItHasNoUseFor) {
  Bytes memory(4096);
  EXPECT_TRUE(receiver_->register_memory(Region{7}, memory).has_value());
  receiver_->unregister_memory(Region{7});
}

}  // namespace
}  // namespace longhaul::io::kernel
