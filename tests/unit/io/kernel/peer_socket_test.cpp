// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/peer_socket.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "lib/io/kernel/mmsg_engine.hpp"
#include "tests/unit/io/kernel/support.hpp"

namespace longhaul::io::kernel {
namespace {

using namespace std::chrono_literals;
using test::Burst;
using test::loopback;

struct PeerSocketTest : testing::TestWithParam<AddressFamily> {
  void SetUp() override {
    if (GetParam() == AddressFamily::ipv6 && !test::has_ipv6())
      GTEST_SKIP() << "SKIP: no ::1 on this machine";
    for (auto* place : {&receiver, &sender, &other}) {
      auto opened = Socket::open({.local = loopback(GetParam())});
      ASSERT_TRUE(opened) << opened.error().context;
      place->emplace(std::move(*opened));
    }
    engine = std::make_unique<MmsgEngine>(*receiver, true, 32);
    from_sender = std::make_unique<MmsgEngine>(*sender, false, 32);
    from_other = std::make_unique<MmsgEngine>(*other, false, 32);
  }

  void send(MmsgEngine& from, int count) {
    Burst burst;
    for (int i = 0; i < count; ++i) burst.add(receiver->local(), 200 + sent++ % 100);
    ASSERT_EQ(from.transmit(burst.datagrams()), burst.size());
    for (std::size_t i = 0; i < burst.size(); ++i) wanted.push_back(burst.content(i));
  }
  // Takes what is there.
  void receive() {
    std::vector<base::RxDatagram> out(64);
    while (const std::size_t count = engine->receive(now, out)) {
      for (std::size_t i = 0; i < count; ++i)
        arrived.emplace_back(out[i].data.begin(), out[i].data.end());
    }
  }
  void rush(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      send(*from_sender, 32);
      receive();
    }
  }

  std::optional<Socket> receiver, sender, other;
  std::unique_ptr<MmsgEngine> engine, from_sender, from_other;
  Timestamp now = Timestamp{} + 1h;
  std::uint64_t sent = 0;
  std::vector<test::Bytes> wanted, arrived;
};

INSTANTIATE_TEST_SUITE_P(Families, PeerSocketTest,
                         testing::Values(AddressFamily::ipv4, AddressFamily::ipv6),
                         [](const auto& family) {
                           return family.param == AddressFamily::ipv4 ? "ipv4" : "ipv6";
                         });

TEST_P(PeerSocketTest, opens_for_who_sends_most_and_keeps_order_and_everything) {
  rush(100);
  EXPECT_EQ(engine->second_descriptor(), -1);
  rush(100);
  EXPECT_NE(engine->second_descriptor(), -1);
  rush(100);
  EXPECT_EQ(arrived, wanted);
}

TEST_P(PeerSocketTest, what_waited_at_the_first_when_it_opened_comes_first) {
  rush(127);
  for (int i = 0; i < 20; ++i) send(*from_sender, 32);
  std::vector<base::RxDatagram> out(64);
  while (engine->second_descriptor() == -1) {
    const std::size_t count = engine->receive(now, out);
    ASSERT_GT(count, 0u);
    for (std::size_t i = 0; i < count; ++i)
      arrived.emplace_back(out[i].data.begin(), out[i].data.end());
  }
  send(*from_sender, 32);
  receive();
  EXPECT_EQ(arrived, wanted);
}

TEST_P(PeerSocketTest, others_are_heard_although_it_never_stops) {
  rush(200);
  ASSERT_NE(engine->second_descriptor(), -1);
  arrived.clear();
  wanted.clear();
  send(*from_other, 1);
  const test::Bytes of_other = wanted.back();
  std::vector<base::RxDatagram> out(4);
  bool heard = false;
  for (int i = 0; i < 20 && !heard; ++i) {
    send(*from_sender, 32);
    const std::size_t count = engine->receive(now, out);
    for (std::size_t j = 0; j < count; ++j)
      heard = heard || test::Bytes(out[j].data.begin(), out[j].data.end()) == of_other;
  }
  EXPECT_TRUE(heard);
}

TEST_P(PeerSocketTest, a_crowd_gets_none) {
  for (int i = 0; i < 400; ++i) {
    send(*from_sender, 16);
    send(*from_other, 16);
    receive();
  }
  EXPECT_EQ(engine->second_descriptor(), -1);
  EXPECT_EQ(arrived.size(), wanted.size());
}

TEST_P(PeerSocketTest, silence_closes_it_and_the_first_takes_over) {
  rush(200);
  ASSERT_NE(engine->second_descriptor(), -1);
  now += 2s;
  receive();
  EXPECT_EQ(engine->second_descriptor(), -1);
  rush(10);
  EXPECT_EQ(arrived, wanted);
  rush(200);
  EXPECT_NE(engine->second_descriptor(), -1);
  EXPECT_EQ(arrived, wanted);
}

TEST_P(PeerSocketTest, nobody_else_can_bind_the_port) {
  const auto taken = [&] {
    const auto third = Socket::open({.local = receiver->local()});
    return !third && third.error().code == ErrorCode::address_in_use;
  };
  EXPECT_TRUE(taken());
  rush(200);
  ASSERT_NE(engine->second_descriptor(), -1);
  EXPECT_TRUE(taken());
  now += 2s;
  receive();
  ASSERT_EQ(engine->second_descriptor(), -1);
  EXPECT_TRUE(taken());
}

}  // namespace
}  // namespace longhaul::io::kernel
