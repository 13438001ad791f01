// SPDX-License-Identifier: Apache-2.0
// A relay between a line of MTU 9000 and one of MTU 1500, made of the public API alone.
#include "lib/base/interval_set.hpp"
#include "tests/sim/story.hpp"

namespace longhaul::simtest {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = Completion::Kind;

// One line of MTU 9000 and one of MTU 1500, otherwise equal; and what is moved over both.
struct Course {
  std::uint64_t rate_bps;
  Duration rtt;
  std::uint64_t bytes;

  Line jumbo() const { return {.rate_bps = rate_bps, .rtt = rtt, .mtu = 9000}; }
  Line ethernet() const { return {.rate_bps = rate_bps, .rtt = rtt, .mtu = 1500}; }
};

// What a gateway's inner loop is: receive with piece events, send on what has come so far. What is
// `placed` is intact as far as CRC32C sees; what is `verified` has passed its digest, which comes a
// few MiB later.
class Relay {
 public:
  Relay(Peer& peer, Kind trusted, Connection from, Connection to, std::span<std::byte> memory)
      : peer_(peer), trusted_(trusted) {
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
      if (completion.kind != trusted_) continue;
      come_.insert(completion.range.begin, completion.range.end);
    }
    const std::uint64_t prefix = come_.first_missing(0);
    if (prefix > ready_) must(out_.ready(ready_ = prefix), "ready");
  }

 private:
  Peer& peer_;
  Kind trusted_;
  Transfer out_;
  std::size_t next_ = 0;
  base::IntervalSet come_;
  std::uint64_t ready_ = 0;
};

struct Network {
  explicit Network(const Course& course)
      : world(1, base::PayloadMode::bytes),
        bytes(course.bytes),
        source(bytes),
        middle(bytes),
        destination(bytes) {
    const Line jumbo = course.jumbo();
    const Line ethernet = course.ethernet();
    const sim::HostId a = world.add_host(1);
    const sim::HostId r = world.add_host(2);
    const sim::HostId b = world.add_host(3);
    world.connect_hosts(a, r, link_of(jumbo), link_of(jumbo));
    world.connect_hosts(r, b, link_of(ethernet), link_of(ethernet));
    source_peer = &world.open(a, endpoint_config(jumbo));
    EndpointConfig both_sides = endpoint_config(ethernet);
    both_sides.mtu_max = 9000;
    relay_peer = &world.open(r, both_sides);
    sink_peer = &world.open(b, endpoint_config(ethernet));
    to_relay = connect(world, *source_peer, *relay_peer, World::address(2, kStoryPort), seconds(1));
    to_sink = connect(world, *relay_peer, *sink_peer, World::address(3, kStoryPort), seconds(3));
    fill(source.span(), 5);
    must(to_sink.server.recv_tensor(1, bytes_view(destination.data(), bytes)), "receive");
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
  std::uint64_t bytes;
  Peer* source_peer = nullptr;
  Peer* relay_peer = nullptr;
  Peer* sink_peer = nullptr;
  Connected to_relay;
  Connected to_sink;
  TensorMemory source;
  TensorMemory middle;
  TensorMemory destination;
};

// The same tensor over the second line alone.
Duration direct(const Course& course) {
  Network network(course);
  network.world.run_for(course.rtt * 2);
  must(network.to_sink.client.send_tensor(1, source_view(network.source.data(), network.bytes)),
       "send");
  return network.until_received([] {});
}

Duration relayed(const Course& course, Kind trusted) {
  Network network(course);
  Relay relay(*network.relay_peer, trusted, network.to_relay.server, network.to_sink.client,
              network.middle.span());
  network.world.run_for(course.rtt * 2);
  must(network.to_relay.client.send_tensor(1, source_view(network.source.data(), network.bytes)),
       "send");
  return network.until_received([&] { relay.turn(); });
}

void expect_little_delay(const Course& course, Kind trusted) {
  const Duration without = direct(course);
  const Duration with = relayed(course, trusted);
  EXPECT_LT((with - without).count(), (course.rtt / 2 * 11 / 10).count())
      << "direct " << without.count() << " ns, relayed " << with.count() << " ns";
  EXPECT_EQ(with.count(), relayed(course, trusted).count());
}

TEST(Relay, OfPlacedBytesAddsLittleMoreThanItsLinesDelay) {
  expect_little_delay({1'000'000'000, milliseconds(40), 32u << 20}, Kind::placed);
}

// A digest covers 4 MiB, 3.4 ms of this line: a long one hides them.
TEST(Relay, OfVerifiedBytesAddsLittleMoreThanALongLinesDelay) {
  expect_little_delay({10'000'000'000, milliseconds(100), 64u << 20}, Kind::verified);
}

}  // namespace
}  // namespace longhaul::simtest
