// SPDX-License-Identifier: Apache-2.0
// The backend as the wire sees it: an Ethernet port of MTU 1500 whose other end is the test.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/unit/io/kernel/support.hpp"
#include "tests/unit/io/kernel/tap_network.hpp"

namespace longhaul::io::kernel {
namespace {

using namespace std::chrono_literals;
using test::Burst;
using test::Bytes;
using test::ipv4;
using test::Packet;

const SocketAddress kNeighbour = ipv4(10, 77, 0, 2, 5201);

class WireTest : public testing::TestWithParam<EngineChoice> {
 protected:
  void SetUp() override {
    network_ = test::TapNetwork::make();
    if (!network_) GTEST_SKIP() << "needs CAP_SYS_ADMIN, CAP_NET_ADMIN and /dev/net/tun";
  }

  std::unique_ptr<Backend> open(KernelOptions options = {.local = ipv4(10, 77, 0, 1, 0)}) {
    options.engine = GetParam();
    std::unique_ptr<Backend> backend;
    network_->inside([&] { backend = test::open_backend(options); });
    return backend;
  }

  static void expect_payloads(const std::vector<Packet>& packets, const Burst& burst,
                              const std::vector<std::size_t>& which) {
    ASSERT_EQ(packets.size(), which.size());
    for (std::size_t i = 0; i < which.size(); ++i) {
      EXPECT_EQ(packets[i].payload, burst.content(which[i])) << "packet " << i;
    }
  }

  std::unique_ptr<test::TapNetwork> network_;
};

INSTANTIATE_TEST_SUITE_P(Engines, WireTest,
                         testing::Values(EngineChoice::mmsg, EngineChoice::io_uring,
                                         EngineChoice::io_uring_zero_copy),
                         [](const auto& engine) { return test::name_of(engine.param); });

std::vector<std::size_t> range(std::size_t first, std::size_t last) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = first; i < last; ++i) numbers.push_back(i);
  return numbers;
}

TEST_P(WireTest, TheInterfacesMtuBoundsTheDatagram) {
  const auto backend = open();
  ASSERT_TRUE(backend);
  EXPECT_EQ(backend->capabilities().datagram_max, 1472U);
}

TEST_P(WireTest, ATrainIsCutIntoWholeUnfragmentedMarkedPackets) {
  network_->answer_for_neighbour();
  const auto backend = open();
  ASSERT_TRUE(backend);
  Burst burst;
  for (int i = 0; i < 60; ++i) burst.add(kNeighbour, 1472, {base::Ecn::ect0, 46});
  burst.add(kNeighbour, 333, {base::Ecn::ect0, 46});
  ASSERT_EQ(backend->transmit(test::now(), burst.datagrams()), burst.size());
  EXPECT_EQ(backend->stats().send_calls, 1U);
  const auto packets = network_->capture(burst.size());
  expect_payloads(packets, burst, range(0, burst.size()));
  for (const Packet& packet : packets) {
    EXPECT_EQ(packet.traffic_class, 46 << 2 | 2);
    EXPECT_TRUE(packet.dont_fragment);
    EXPECT_FALSE(packet.fragment);
    EXPECT_EQ(packet.destination_port, kNeighbour.port);
  }
}

TEST_P(WireTest, DatagramsAboveTheMtuAreDroppedOneByOneEvenWhenTheyFormATrain) {
  network_->answer_for_neighbour();
  const auto backend = open();
  ASSERT_TRUE(backend);
  Burst burst;
  for (const std::size_t size : {1400U, 1400U, 1473U, 1473U, 1472U, 1400U, 1400U, 5000U, 700U}) {
    burst.add(kNeighbour, size);
  }
  ASSERT_EQ(backend->transmit(test::now(), burst.datagrams()), burst.size());
  EXPECT_EQ(backend->stats().too_big, 3U);
  EXPECT_EQ(backend->stats().send_errors, 0U);
  expect_payloads(network_->capture(6), burst, {0, 1, 4, 5, 6, 8});
}

TEST_P(WireTest, AFullSendBufferAcceptsAPrefixAndTheRestLater) {
  const auto backend = open({.local = ipv4(10, 77, 0, 1, 0), .send_buffer = 16U << 10U});
  ASSERT_TRUE(backend);
  Burst burst;
  for (std::size_t i = 0; i < 64; ++i) burst.add(kNeighbour, 1000 + i);
  const std::size_t accepted = backend->transmit(test::now(), burst.datagrams());
  ASSERT_GT(accepted, 0U);
  ASSERT_LT(accepted, burst.size());
  EXPECT_EQ(backend->stats().blocked, 1U);
  EXPECT_EQ(backend->transmit(test::now(), burst.datagrams().subspan(accepted)), 0U);
  EXPECT_EQ(backend->stats().blocked, 2U);

  network_->answer_for_neighbour();
  expect_payloads(network_->capture(accepted), burst, range(0, accepted));
  ASSERT_EQ(backend->transmit(test::now(), burst.datagrams().subspan(accepted)),
            burst.size() - accepted);
  expect_payloads(network_->capture(burst.size() - accepted), burst, range(accepted, burst.size()));
}

TEST_P(WireTest, AFullSendBufferBetweenTrainsAcceptsWholeTrains) {
  const auto backend = open({.local = ipv4(10, 77, 0, 1, 0), .send_buffer = 32U << 10U});
  ASSERT_TRUE(backend);
  Burst burst;
  for (int i = 0; i < 200; ++i) burst.add(kNeighbour, 1400);
  const std::size_t accepted = backend->transmit(test::now(), burst.datagrams());
  ASSERT_GT(accepted, 0U);
  ASSERT_LT(accepted, burst.size());
  network_->answer_for_neighbour();
  expect_payloads(network_->capture(accepted), burst, range(0, accepted));
}

TEST_P(WireTest, TensorMemoryIsLetGoOnceNoPacketRefersToIt) {
  constexpr std::size_t kChunk = 8940;
  network_->set_mtu(9000);
  network_->offload_checksums();
  const auto backend = open();
  ASSERT_TRUE(backend);
  Bytes tensor = test::pattern(10 * kChunk, 1);
  const Bytes expected = tensor;
  std::vector<Bytes> heads(10, test::pattern(30, 2));
  std::vector<base::TxDatagram> burst(10);
  for (std::size_t i = 0; i < burst.size(); ++i) {
    burst[i].head = heads[i];
    burst[i].head_size = heads[i].size();
    burst[i].payload = std::span(tensor).subspan(i * kChunk, kChunk);
    burst[i].remote = kNeighbour;
  }
  // Nobody knows the neighbour yet, so the system keeps the packets.
  ASSERT_EQ(backend->transmit(test::now(), burst), burst.size());
  const bool refers = GetParam() == EngineChoice::io_uring_zero_copy;
  EXPECT_EQ(backend->release_payload(), !refers);
  // What is sent while it is being let go is copied, so that it comes to an end.
  ASSERT_EQ(backend->transmit(test::now(), std::span(burst).first(2)), 2U);
  for (Bytes& head : heads) std::ranges::fill(head, std::byte{0xee});

  network_->answer_for_neighbour();
  const auto packets = network_->capture(burst.size() + 2);
  ASSERT_EQ(packets.size(), burst.size() + 2);
  for (std::size_t i = 0; i < packets.size(); ++i) {
    Bytes whole = test::pattern(30, 2);
    const auto chunk = expected.begin() + static_cast<std::ptrdiff_t>(i % burst.size() * kChunk);
    whole.insert(whole.end(), chunk, chunk + kChunk);
    EXPECT_EQ(packets[i].payload, whole) << i;
  }
  const Timestamp end = test::now() + 2s;
  while (!backend->release_payload() && test::now() < end) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(backend->release_payload());
}

TEST_P(WireTest, ADestinationWithoutARouteIsDroppedAndTheRestGoesOn) {
  network_->answer_for_neighbour();
  const auto backend = open();
  ASSERT_TRUE(backend);
  Burst burst;
  for (int i = 0; i < 3; ++i) burst.add(kNeighbour, 200);
  for (int i = 0; i < 3; ++i) burst.add(ipv4(198, 51, 100, 1, 5201), 200);
  for (int i = 0; i < 3; ++i) burst.add(kNeighbour, 200);
  ASSERT_EQ(backend->transmit(test::now(), burst.datagrams()), burst.size());
  EXPECT_EQ(backend->stats().send_errors, 3U);
  expect_payloads(network_->capture(6), burst, {0, 1, 2, 6, 7, 8});
}

}  // namespace
}  // namespace longhaul::io::kernel
