// SPDX-License-Identifier: Apache-2.0
// A relay between a line of MTU 9000 and one of MTU 1500, made of the public API alone.
#include "lib/base/interval_set.hpp"
#include "tests/sim/story.hpp"

namespace longhaul::simtest {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = Completion::Kind;

constexpr Line kJumbo{.rate_bps = 1'000'000'000, .rtt = milliseconds(40), .mtu = 9000};
constexpr Line kEthernet{.rate_bps = 1'000'000'000, .rtt = milliseconds(40), .mtu = 1500};
constexpr std::uint64_t kBytes = 32u << 20;

// What a gateway's inner loop is: receive with piece events, send what has been placed so far: the
// last receiver verifies all of it.
class Relay {
 public:
  Relay(Peer& peer, Connection from, Connection to, std::span<std::byte> memory) : peer_(peer) {
    ReceiveOptions receive;
    receive.piece_events = true;
    receive.cookie = 1;
    must(from.recv_tensor(1, bytes_view(memory.data(), memory.size()), receive), "receive");
    SendOptions send;
    send.growing = true;
    send.cookie = 2;
    out_ = must(to.send_tensor(1, source_view(memory.data(), memory.size()), send), "send");
  }

  void turn() {
    for (; next_ < peer_.seen().size(); ++next_) {
      const Completion& completion = peer_.seen()[next_].completion;
      if (completion.kind != Kind::placed) continue;
      placed_.insert(completion.range.begin, completion.range.end);
    }
    const std::uint64_t prefix = placed_.first_missing(0);
    if (prefix > ready_) must(out_.ready(ready_ = prefix), "ready");
  }

 private:
  Peer& peer_;
  Transfer out_;
  std::size_t next_ = 0;
  base::IntervalSet placed_;
  std::uint64_t ready_ = 0;
};

struct Network {
  Network() : world(1, base::PayloadMode::bytes) {
    const sim::HostId a = world.add_host(1);
    const sim::HostId r = world.add_host(2);
    const sim::HostId b = world.add_host(3);
    world.connect_hosts(a, r, link_of(kJumbo), link_of(kJumbo));
    world.connect_hosts(r, b, link_of(kEthernet), link_of(kEthernet));
    source_peer = &world.open(a, endpoint_config(kJumbo));
    EndpointConfig both_sides = endpoint_config(kEthernet);
    both_sides.mtu_max = 9000;
    relay_peer = &world.open(r, both_sides);
    sink_peer = &world.open(b, endpoint_config(kEthernet));
    to_relay = connect(world, *source_peer, *relay_peer, World::address(2, kStoryPort), seconds(1));
    to_sink = connect(world, *relay_peer, *sink_peer, World::address(3, kStoryPort), seconds(3));
    fill(source.span(), 5);
    must(to_sink.server.recv_tensor(1, bytes_view(destination.data(), kBytes)), "receive");
  }

  Duration until_received(const std::function<void()>& turn) {
    const Timestamp start = world.now();
    EXPECT_TRUE(world.run_until(
        [&] {
          turn();
          return sink_peer->count(Kind::transfer) == 1;
        },
        seconds(10)));
    const Duration taken = world.now() - start;
    EXPECT_EQ(sink_peer->seen().back().completion.status, Status::completed);
    EXPECT_TRUE(std::ranges::equal(source.span(), destination.span()));
    return taken;
  }

  World world;
  Peer* source_peer = nullptr;
  Peer* relay_peer = nullptr;
  Peer* sink_peer = nullptr;
  Connected to_relay;
  Connected to_sink;
  TensorMemory source{kBytes};
  TensorMemory middle{kBytes};
  TensorMemory destination{kBytes};
};

// The same tensor over the second line alone.
Duration direct() {
  Network network;
  network.world.run_for(kEthernet.rtt * 2);
  must(network.to_sink.client.send_tensor(1, source_view(network.source.data(), kBytes)), "send");
  return network.until_received([] {});
}

Duration relayed() {
  Network network;
  Relay relay(*network.relay_peer, network.to_relay.server, network.to_sink.client,
              network.middle.span());
  network.world.run_for(kEthernet.rtt * 2);
  must(network.to_relay.client.send_tensor(1, source_view(network.source.data(), kBytes)), "send");
  return network.until_received([&] { relay.turn(); });
}

TEST(Relay, BetweenTwoMtusAddsLittleMoreThanItsLinesDelay) {
  const Duration without = direct();
  const Duration with = relayed();
  const Duration one_way = kJumbo.rtt / 2;
  EXPECT_LT((with - without).count(), (one_way * 11 / 10).count())
      << "direct " << without.count() << " ns, relayed " << with.count() << " ns";
  EXPECT_EQ(with.count(), relayed().count());
}

}  // namespace
}  // namespace longhaul::simtest
