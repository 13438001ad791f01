// SPDX-License-Identifier: Apache-2.0
#include "lib/io/sim/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/io/sim/world.hpp"

namespace longhaul::sim {
namespace {

using namespace std::chrono_literals;
using base::PayloadMode;
using netmodel::LinkConfig;

constexpr Timestamp at(Duration time) {
  return Timestamp{} + time;
}
const HostConfig kNoPolling{.poll_interval = Duration{0}};

TEST(Network, DeliversAfterTheDelayWithSourceAndMarks) {
  World world({.propagation = 5ms}, kNoPolling);
  std::vector<std::byte> head = bytes_of("head");
  const std::vector<std::byte> payload = bytes_of(" and payload");
  base::TxDatagram datagram;
  datagram.head = head;
  datagram.head_size = 4;
  datagram.payload = payload;
  datagram.remote = address_of(2, 2000);
  datagram.ecn = base::Ecn::ect1;
  datagram.dscp = 34;
  EXPECT_EQ(world.a->transmit(world.now(), {&datagram, 1}), 1u);
  EXPECT_TRUE(receive_all(*world.b, world.now()).empty());
  EXPECT_EQ(world.step(), at(5ms));
  EXPECT_TRUE(world.network.readable(world.right, 2000));
  const auto received = receive_all(*world.b, world.now());
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].data, bytes_of("head and payload"));
  EXPECT_EQ(received[0].remote, address_of(1, 1000));
  EXPECT_EQ(received[0].arrival, at(5ms));
  EXPECT_EQ(received[0].ecn, base::Ecn::ect1);
  EXPECT_EQ(received[0].dscp, 34);
  EXPECT_FALSE(received[0].damaged);
  EXPECT_FALSE(world.network.readable(world.right, 2000));
  EXPECT_EQ(world.network.next_arrival(), kNever);
}

TEST(Network, ReferenceModeCarriesTheHeadAndPointsAtThePayload) {
  World world({}, kNoPolling, PayloadMode::reference);
  const std::vector<std::byte> payload(8000);
  send(*world.a, address_of(2, 2000), bytes_of("head"), world.now(), {}, payload);
  world.step();
  std::vector<base::RxDatagram> burst(4);
  ASSERT_EQ(world.b->receive(world.now(), burst), 1u);
  EXPECT_EQ(std::vector(burst[0].data.begin(), burst[0].data.end()), bytes_of("head"));
  EXPECT_EQ(burst[0].reference.data(), payload.data());
  EXPECT_EQ(burst[0].reference.size(), payload.size());
  EXPECT_EQ(burst[0].size(), 8004u);
}

TEST(Network, NothingArrivesAtTheMomentItWasSent) {
  World world({}, kNoPolling);
  send(*world.a, address_of(2, 2000), bytes_of("x"), world.now());
  EXPECT_EQ(world.network.next_arrival(), at(1ns));
}

TEST(Network, HandsOverTogetherWhatArrivesWithinAPollInterval) {
  World world({.rate_bps = 1'000'000'000, .propagation = 1ms}, {.poll_interval = 50us});
  for (int i = 0; i < 10; ++i) {  // 12 304 ns apart
    send(*world.a, address_of(2, 2000), std::vector<std::byte>(1472), world.now());
  }
  EXPECT_EQ(world.step(), at(1050us));
  const auto first = receive_all(*world.b, world.now());
  ASSERT_EQ(first.size(), 4u);
  EXPECT_EQ(first[0].arrival, at(1012304ns));
  EXPECT_EQ(first[3].arrival, at(1049216ns));
  // Between looks nothing shows, though it has arrived.
  world.network.advance_to(at(1090us));
  EXPECT_TRUE(receive_all(*world.b, world.now()).empty());
  EXPECT_EQ(world.step(), at(1100us));
  EXPECT_EQ(receive_all(*world.b, world.now()).size(), 4u);
}

TEST(Network, EntersAtTheDepartureTimeAndInItsOrder) {
  World world({.rate_bps = 8'000'000'000, .propagation = 1ms, .framing_bytes = 72}, kNoPolling);
  // 100 bytes on the wire for each byte-free datagram of 28: 100 ns.
  send(*world.a, address_of(2, 2000), bytes_of(""), at(0ns), at(300ns));
  send(*world.a, address_of(2, 2000), bytes_of("1"), at(0ns), at(200ns));
  send(*world.a, address_of(2, 2000), bytes_of("22"), at(0ns));
  std::vector<std::pair<std::size_t, Timestamp>> arrivals;
  while (world.step() != kNever) {
    for (const auto& r : receive_all(*world.b, world.now())) {
      arrivals.emplace_back(r.size, r.arrival);
    }
  }
  const std::vector<std::pair<std::size_t, Timestamp>> expected{
      {2, at(1ms + 102ns)}, {1, at(1ms + 301ns)}, {0, at(1ms + 401ns)}};
  EXPECT_EQ(arrivals, expected);
}

TEST(Network, APacketSentLaterMayGoBeforeOneThatWaitsForItsDeparture) {
  World world({.propagation = 1ms}, kNoPolling);
  send(*world.a, address_of(2, 2000), bytes_of("paced"), at(0ms), at(10ms));
  EXPECT_EQ(world.network.next_arrival(), at(11ms));
  world.network.advance_to(at(4ms));
  send(*world.a, address_of(2, 2000), bytes_of("now"), world.now());
  EXPECT_EQ(world.step(), at(5ms));
  EXPECT_EQ(receive_all(*world.b, world.now()).at(0).data, bytes_of("now"));
  EXPECT_EQ(world.step(), at(11ms));
  EXPECT_EQ(receive_all(*world.b, world.now()).at(0).data, bytes_of("paced"));
}

TEST(Network, MergesArrivalsOfSeveralLinksInOrder) {
  Network network(1, PayloadMode::bytes);
  const HostId sink = network.add_host(address_of(100), {.poll_interval = 1ms});
  auto backend = *network.open_backend(sink, 1);
  std::vector<std::unique_ptr<io::Backend>> senders;
  for (std::uint8_t i = 1; i <= 9; ++i) {
    const HostId host = network.add_host(address_of(i));
    network.set_link(host, sink, {.propagation = 2ms, .jitter = 900us, .jitter_reorders = i > 4});
    senders.push_back(*network.open_backend(host, 1));
  }
  for (int round = 0; round < 50; ++round) {
    for (auto& sender : senders) {
      send(*sender, address_of(100, 1), bytes_of("x"), network.now(), network.now() + 3us * round);
    }
  }
  std::size_t count = 0;
  Timestamp last{};
  while (network.next_arrival() != kNever) {
    network.advance_to(network.next_arrival());
    for (const auto& received : receive_all(*backend, network.now())) {
      EXPECT_GE(received.arrival, last);
      EXPECT_LE(received.arrival, network.now());
      last = received.arrival;
      ++count;
    }
  }
  EXPECT_EQ(count, 450u);
}

TEST(Network, ReceivesInPiecesWithoutLosingAny) {
  World world({}, kNoPolling);
  for (int i = 0; i < 20; ++i) {
    send(*world.a, address_of(2, 2000), {static_cast<std::byte>(i)}, world.now());
  }
  world.step();
  std::vector<base::RxDatagram> burst(7);
  int expected = 0;
  while (const std::size_t count = world.b->receive(world.now(), burst)) {
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(burst[i].data[0], static_cast<std::byte>(expected++));
    }
  }
  EXPECT_EQ(expected, 20);
  EXPECT_EQ(world.b->stats().datagrams_received, 20u);
}

TEST(Network, MtuOfTheInterfaceDropsAndCountsAsSent) {
  World world({}, {.mtu = 1500});
  EXPECT_EQ(world.a->capabilities().datagram_max, 1472u);
  send(*world.a, address_of(2, 2000), std::vector<std::byte>(1473), world.now());
  send(*world.a, address_of(2, 2000), std::vector<std::byte>(1472), world.now());
  world.step();
  EXPECT_EQ(receive_all(*world.b, world.now()).size(), 1u);
  EXPECT_EQ(world.a->stats().too_big, 1u);
  EXPECT_EQ(world.a->stats().datagrams_sent, 1u);
}

TEST(Network, CountsWhatHasNoRouteOrNoOneToReceiveIt) {
  World world;
  send(*world.a, address_of(9, 2000), bytes_of("nowhere"), world.now());
  send(*world.a, address_of(1, 1000), bytes_of("self, no link"), world.now());
  EXPECT_EQ(world.network.stats().no_route, 2u);
  send(*world.a, address_of(2, 2001), bytes_of("nobody"), world.now());
  EXPECT_EQ(world.network.stats().carried, 1u);
  world.step();
  EXPECT_EQ(world.network.stats().unbound, 1u);
  // A port that closes while the datagram is on its way.
  send(*world.a, address_of(2, 2000), bytes_of("late"), world.now());
  world.b.reset();
  world.step();
  EXPECT_EQ(world.network.stats().unbound, 2u);
}

TEST(Network, APortOpenedAgainReceivesWhatIsOnItsWay) {
  World world({.propagation = 5ms});
  send(*world.a, address_of(2, 2000), bytes_of("before"), world.now());
  world.b.reset();
  world.b = *world.network.open_backend(world.right, 2000);
  world.step();
  EXPECT_EQ(receive_all(*world.b, world.now()).size(), 1u);
}

TEST(Network, RefusesAPortThatIsTakenAndAHostThatDoesNotExist) {
  World world;
  const auto taken = world.network.open_backend(world.left, 1000);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::address_in_use);
  const auto nowhere = world.network.open_backend(HostId{7}, 1000);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::invalid_argument);
  const auto first = world.network.open_backend(world.left, 0);
  const auto second = world.network.open_backend(world.left, 0);
  ASSERT_TRUE(first && second);
  EXPECT_GE((*first)->local_address().port, 49152);
  EXPECT_NE((*first)->local_address(), (*second)->local_address());
  world.a.reset();
  EXPECT_TRUE(world.network.open_backend(world.left, 1000));
}

TEST(Network, FilterSeesEveryDatagramWhenItEntersAndMayDropIt) {
  World world({.propagation = 1ms}, kNoPolling);
  std::vector<FilterView> views;
  world.network.set_filter([&](const FilterView& view) {
    views.push_back(view);
    return view.head[0] == std::byte{'d'} ? Verdict::drop : Verdict::pass;
  });
  send(*world.a, address_of(2, 2000), bytes_of("late"), at(0ms), at(3ms));
  send(*world.a, address_of(2, 2000), bytes_of("drop"), world.now());
  send(*world.b, address_of(1, 1000), bytes_of("back"), at(0ms), at(2ms));
  while (world.step() != kNever) {
  }
  ASSERT_EQ(views.size(), 3u);
  EXPECT_EQ(views[0].now, at(0ms));
  EXPECT_EQ(views[1].now, at(2ms));
  EXPECT_EQ(views[1].from, world.right);
  EXPECT_EQ(views[1].to, world.left);
  EXPECT_EQ(views[1].size, 4u);
  EXPECT_EQ(views[2].now, at(3ms));
  EXPECT_EQ(world.network.stats().filtered, 1u);
  EXPECT_EQ(world.network.link_stats(world.left, world.right).offered, 1u);
  EXPECT_EQ(receive_all(*world.b, world.now()).size(), 1u);
  world.network.set_filter({});
  send(*world.a, address_of(2, 2000), bytes_of("drop"), world.now());
  world.step();
  EXPECT_EQ(receive_all(*world.b, world.now()).size(), 1u);
}

TEST(Network, AFilterMayReplaceADatagramByAnother) {
  World world({.propagation = 1ms});
  world.network.set_filter([&](const FilterView& view) {
    if (view.head[0] != std::byte{'o'}) return Verdict::pass;
    world.network.inject(address_of(1, 1000), address_of(2, 2000), bytes_of("forged"));
    return Verdict::drop;
  });
  send(*world.a, address_of(2, 2000), bytes_of("original"), at(0ms), at(1ms));
  send(*world.a, address_of(2, 2000), bytes_of("own"), world.now());
  std::size_t forged = 0;
  while (world.step() != kNever) {
    for (const auto& received : receive_all(*world.b, world.now())) {
      EXPECT_EQ(received.data, bytes_of("forged"));
      ++forged;
    }
  }
  EXPECT_EQ(forged, 2u);
}

TEST(Network, InjectTakesTheLinkOfTheHostOrAnIdealOneForStrangers) {
  World world({.propagation = 5ms}, kNoPolling);
  world.network.inject(address_of(1, 77), address_of(2, 2000), bytes_of("as host 1"));
  world.network.inject(address_of(200, 53), address_of(2, 2000), bytes_of("spoofed"));
  EXPECT_EQ(world.step(), at(1ns));
  const auto spoofed = receive_all(*world.b, world.now());
  ASSERT_EQ(spoofed.size(), 1u);
  EXPECT_EQ(spoofed[0].remote, address_of(200, 53));
  EXPECT_EQ(world.step(), at(5ms));
  EXPECT_EQ(receive_all(*world.b, world.now()).at(0).remote, address_of(1, 77));
  EXPECT_EQ(world.network.link_stats(kOutside, world.right).delivered, 1u);
  send(*world.b, address_of(200, 53), bytes_of("answer"), world.now());
  world.network.inject(address_of(1, 77), address_of(201, 1), bytes_of("nowhere"));
  EXPECT_EQ(world.network.stats().no_route, 2u);
}

TEST(Network, ReboundPortIsSeenUnderItsNewAddressAndLosesTheOld) {
  World world({.propagation = 1ms});
  send(*world.b, address_of(1, 1000), bytes_of("on its way"), world.now());
  world.network.rebind(world.left, 1000, address_of(50, 4321));
  send(*world.a, address_of(2, 2000), bytes_of("hello"), world.now());
  world.step();
  EXPECT_TRUE(receive_all(*world.a, world.now()).empty());
  EXPECT_EQ(world.network.stats().unbound, 1u);
  EXPECT_EQ(receive_all(*world.b, world.now()).at(0).remote, address_of(50, 4321));
  EXPECT_EQ(world.a->local_address(), address_of(1, 1000));
  send(*world.b, address_of(50, 4321), bytes_of("new"), world.now());
  send(*world.b, address_of(1, 1000), bytes_of("old"), world.now());
  world.step();
  EXPECT_EQ(receive_all(*world.a, world.now()).at(0).data, bytes_of("new"));
  EXPECT_EQ(world.network.stats().unbound, 2u);
  // And back again.
  world.network.rebind(world.left, 1000, address_of(1, 1000));
  send(*world.b, address_of(1, 1000), bytes_of("back"), world.now());
  world.step();
  EXPECT_EQ(receive_all(*world.a, world.now()).at(0).data, bytes_of("back"));
}

TEST(Network, RebindHoldsForAProcessThatStartsAgain) {
  World world;
  world.network.rebind(world.left, 1000, address_of(50, 4321));
  world.a.reset();
  world.a = *world.network.open_backend(world.left, 1000);
  send(*world.a, address_of(2, 2000), bytes_of("again"), world.now());
  world.step();
  EXPECT_EQ(receive_all(*world.b, world.now()).at(0).remote, address_of(50, 4321));
}

TEST(Network, DuplicateArrivesTwiceWithMemoryOfItsOwn) {
  World world({.duplicate = 1}, kNoPolling);
  send(*world.a, address_of(2, 2000), bytes_of(std::string(500, 'x')), world.now());
  world.step();
  std::vector<base::RxDatagram> burst(4);
  ASSERT_EQ(world.b->receive(world.now(), burst), 2u);
  burst[0].data[0] = std::byte{'y'};
  EXPECT_EQ(burst[1].data[0], std::byte{'x'});
  EXPECT_EQ(burst[1].data.size(), 500u);
}

TEST(Network, CorruptionFlipsBitsInModeBytesAndMarksInModeReference) {
  const auto hit = [](std::span<const std::byte> bytes) {
    return std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; });
  };
  const auto heads_hit = [&](PayloadMode mode) {
    World world({.corrupt = 1}, kNoPolling, mode);
    const std::vector<std::byte> payload(1000);
    std::vector<int> heads;
    for (int i = 0; i < 100; ++i) {
      send(*world.a, address_of(2, 2000), std::vector<std::byte>(100), world.now(), {}, payload);
      world.step();
      const auto received = receive_all(*world.b, world.now());
      EXPECT_EQ(received.size(), 1u);
      EXPECT_EQ(received[0].damaged, mode == PayloadMode::reference);
      EXPECT_TRUE(mode == PayloadMode::reference || hit(received[0].data));
      if (hit(std::span(received[0].data).first(100))) heads.push_back(i);
    }
    EXPECT_FALSE(hit(payload));
    return heads;
  };
  const auto heads = heads_hit(PayloadMode::bytes);
  EXPECT_GT(heads.size(), 10u);
  EXPECT_EQ(heads, heads_hit(PayloadMode::reference));
}

TEST(Network, AChangedLinkLeavesWhatIsOnTheWire) {
  World world({.propagation = 50ms}, kNoPolling);
  send(*world.a, address_of(2, 2000), bytes_of("slow"), world.now());
  world.network.set_link(world.left, world.right, {.propagation = 10ms});
  send(*world.a, address_of(2, 2000), bytes_of("fast"), world.now());
  EXPECT_EQ(world.step(), at(10ms));
  EXPECT_EQ(receive_all(*world.b, world.now()).at(0).data, bytes_of("fast"));
  EXPECT_EQ(world.step(), at(50ms));
  EXPECT_EQ(receive_all(*world.b, world.now()).at(0).data, bytes_of("slow"));
}

TEST(Network, LinksDoNotDisturbEachOthersRandomness) {
  const auto lost_pattern = [](bool with_cross_traffic) {
    Network network(9, PayloadMode::bytes);
    const HostId one = network.add_host(address_of(1));
    const HostId two = network.add_host(address_of(2));
    const HostId three = network.add_host(address_of(3));
    if (with_cross_traffic) network.set_link(three, two, {.loss = 0.5});
    network.set_link(one, two, {.loss = 0.5});
    auto a = *network.open_backend(one, 1);
    auto b = *network.open_backend(two, 1);
    auto c = *network.open_backend(three, 1);
    std::vector<std::byte> arrived;
    for (int i = 0; i < 100; ++i) {
      if (with_cross_traffic) send(*c, address_of(2, 1), {std::byte{255}}, network.now());
      send(*a, address_of(2, 1), {static_cast<std::byte>(i)}, network.now());
      network.advance_to(network.now() + 1ms);
      for (const auto& r : receive_all(*b, network.now())) {
        if (r.data[0] != std::byte{255}) arrived.push_back(r.data[0]);
      }
    }
    return arrived;
  };
  EXPECT_EQ(lost_pattern(false), lost_pattern(true));
}

TEST(Network, TimeDoesNotGoBack) {
  World world;
  world.network.advance_to(at(5ms));
  world.network.advance_to(at(3ms));
  EXPECT_EQ(world.now(), at(5ms));
}

}  // namespace
}  // namespace longhaul::sim
