// SPDX-License-Identifier: Apache-2.0
// How connections begin and end.
#include <array>

#include "lib/wire/packet.hpp"
#include "tests/sim/story.hpp"

namespace longhaul::simtest {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = Completion::Kind;

constexpr Line kLine{.rate_bps = 1'000'000'000, .rtt = milliseconds(20), .mtu = 1500};

struct TwoHosts {
  explicit TwoHosts(std::uint64_t seed = 1)
      : world(seed, base::PayloadMode::bytes), a(world.add_host(1)), b(world.add_host(2)) {
    world.connect_hosts(a, b, link_of(kLine), link_of(kLine));
  }
  World world;
  sim::HostId a;
  sim::HostId b;
};

std::uint64_t run_crossing() {
  TwoHosts hosts;
  World& world = hosts.world;
  Peer& left = world.open(hosts.a, endpoint_config(kLine));
  Peer& right = world.open(hosts.b, endpoint_config(kLine));
  must(left.endpoint().listen(), "listen");
  must(right.endpoint().listen(), "listen");
  std::array<Connection, 2> connecting{
      must(left.endpoint().connect_async(World::address(2, kStoryPort)), "connect"),
      must(right.endpoint().connect_async(World::address(1, kStoryPort)), "connect")};
  EXPECT_TRUE(world.run_until(
      [&] {
        return left.count(Kind::incoming) == 1 && right.count(Kind::incoming) == 1 &&
               left.count(Kind::connected) == 1 && right.count(Kind::connected) == 1;
      },
      seconds(2)));
  std::array<Connection, 2> accepted{must(right.endpoint().accept(), "accept"),
                                     must(left.endpoint().accept(), "accept")};
  std::array<Peer*, 2> senders{&left, &right};
  std::array<Peer*, 2> receivers{&right, &left};
  std::vector<TensorMemory> sources;
  std::vector<TensorMemory> destinations;
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(connecting[i].status(), Status::completed);
    fill(sources.emplace_back(100'000).span(), i);
    destinations.emplace_back(100'000);
    must(accepted[i].recv_tensor(1, bytes_view(destinations[i].data(), 100'000)), "receive");
    must(connecting[i].send_tensor(1, source_view(sources[i].data(), 100'000)), "send");
  }
  EXPECT_TRUE(world.run_until(
      [&] { return left.count(Kind::transfer) == 2 && right.count(Kind::transfer) == 2; },
      seconds(2)));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(std::ranges::equal(sources[i].span(), destinations[i].span()));
    EXPECT_EQ(must(senders[i]->endpoint().stats(), "stats").connections, 2u);
    EXPECT_FALSE(receivers[i]->endpoint().accept().has_value());
  }
  return world.network().trace_hash();
}

TEST(Connecting, CrossingConnectsGiveTwoConnections) {
  EXPECT_EQ(run_crossing(), run_crossing());
}

TEST(Connecting, ToAPeerThatDoesNotListenIsRefused) {
  TwoHosts hosts;
  Peer& client = hosts.world.open(hosts.a, endpoint_config(kLine));
  hosts.world.open(hosts.b, endpoint_config(kLine));
  Connection connection =
      must(client.endpoint().connect_async(World::address(2, kStoryPort)), "connect");
  ASSERT_TRUE(
      hosts.world.run_until([&] { return client.count(Kind::connected) == 1; }, seconds(15)));
  EXPECT_EQ(connection.status(), Status::refused);
  EXPECT_FALSE(connection.reason().empty());
  EXPECT_LE(hosts.world.now(), Timestamp{} + seconds(1));
}

TEST(Connecting, ToNobodyTimesOut) {
  TwoHosts hosts;
  Peer& client = hosts.world.open(hosts.a, endpoint_config(kLine));
  ConnectOptions options;
  options.timeout = seconds(3);
  Connection connection =
      must(client.endpoint().connect_async(World::address(2, kStoryPort), options), "connect");
  ASSERT_TRUE(
      hosts.world.run_until([&] { return client.count(Kind::connected) == 1; }, seconds(15)));
  EXPECT_EQ(connection.status(), Status::timed_out);
  EXPECT_GE(hosts.world.now(), Timestamp{} + seconds(3));
  EXPECT_LE(hosts.world.now(), Timestamp{} + seconds(3) + milliseconds(100));
}

// A server of another version: answers every initial with what it speaks.
void answer_with_other_versions(World& world, io::Backend& backend) {
  std::array<base::RxDatagram, 8> burst;
  const std::size_t count = backend.receive(world.now(), burst);
  for (std::size_t i = 0; i < count; ++i) {
    const auto peek = wire::peek_long(burst[i].data);
    if (!peek || peek->type != wire::LongType::initial) continue;
    std::array<std::byte, 64> answer;
    const std::array<std::uint32_t, 1> versions{0x4c480063};
    const std::size_t size =
        wire::write_version_negotiation(peek->source_id, peek->attempt, versions, answer);
    world.network().inject(backend.local_address(), burst[i].remote, std::span(answer).first(size));
  }
}

TEST(Connecting, ToAServerOfAnotherVersionSaysSo) {
  TwoHosts hosts;
  World& world = hosts.world;
  auto other = must(world.network().open_backend(hosts.b, kStoryPort), "open a backend");
  Peer& client = world.open(hosts.a, endpoint_config(kLine));
  Connection connection =
      must(client.endpoint().connect_async(World::address(2, kStoryPort)), "connect");
  world.run_until(
      [&] {
        answer_with_other_versions(world, *other);
        return client.count(Kind::connected) == 1;
      },
      seconds(5));
  ASSERT_TRUE(is_terminal(connection.status()));
  EXPECT_NE(connection.status(), Status::completed);
  EXPECT_LE(world.now(), Timestamp{} + seconds(1)) << "it should not have waited for a time-out";
  EXPECT_NE(connection.reason().find("version"), std::string::npos) << connection.reason();
  const Result<void> waited = connection.wait_connected(Duration{0});
  ASSERT_FALSE(waited.has_value());
  EXPECT_EQ(waited.error().code, ErrorCode::version_mismatch) << to_string(waited.error());
}

TEST(Connecting, AClientOfAnotherVersionIsToldOurs) {
  TwoHosts hosts;
  World& world = hosts.world;
  Peer& server = world.open(hosts.b, endpoint_config(kLine));
  must(server.endpoint().listen(), "listen");
  auto other = must(world.network().open_backend(hosts.a, 9999), "open a backend");
  std::array<std::byte, 1200> initial{};
  wire::LongHeader header;
  header.version = 0x4c480063;
  header.source_id = 42;
  header.attempt = 4711;
  ASSERT_NE(wire::write_long_packet(header, std::array<std::byte, 1100>{}, initial), 0u);
  world.network().inject(World::address(1, 9999), World::address(2, kStoryPort), initial);
  std::optional<std::vector<std::uint32_t>> versions;
  world.run_until(
      [&] {
        std::array<base::RxDatagram, 8> burst;
        const std::size_t count = other->receive(world.now(), burst);
        for (std::size_t i = 0; i < count; ++i) {
          versions = wire::read_version_negotiation(burst[i].data);
        }
        return versions.has_value();
      },
      seconds(1));
  ASSERT_TRUE(versions.has_value());
  EXPECT_EQ(*versions, std::vector<std::uint32_t>{wire::kVersion});
  const EndpointStats stats = must(server.endpoint().stats(), "stats");
  EXPECT_EQ(stats.dropped[static_cast<std::size_t>(DropReason::unknown_version)], 1u);
  EXPECT_EQ(stats.connections, 0u);
}

TEST(Connecting, AClosedEndpointTellsItsPeer) {
  Duet duet(1, kLine);
  ReceiveOptions options;
  options.cookie = 5;
  TensorMemory memory(1000);
  must(duet.both.client.recv_tensor(1, bytes_view(memory.data(), 1000), options), "receive");
  duet.world.run_for(milliseconds(50));
  duet.server->endpoint().close();
  ASSERT_TRUE(duet.world.run_until([&] { return duet.client->count(Kind::disconnected) == 1; },
                                   seconds(1)));
  EXPECT_EQ(ended(*duet.client, 5), Status::closed);
}

TEST(Connecting, ARestartedServerResetsWhatItDoesNotKnow) {
  EndpointConfig config = endpoint_config(kLine);
  config.stateless_reset_key = "survives restarts";
  config.peer_timeout = seconds(30);
  Duet duet(1, kLine, config, milliseconds(500));
  World& world = duet.world;
  TensorMemory memory(50'000'000);
  SendOptions options;
  options.cookie = 5;
  world.network().set_filter([&](const sim::FilterView& view) {
    return view.from == duet.server_host ? sim::Verdict::drop : sim::Verdict::pass;
  });
  duet.server->endpoint().close();
  world.run_for(milliseconds(50));
  world.network().set_filter({});
  Peer& reborn = world.open(duet.server_host, config);
  must(reborn.endpoint().listen(), "listen");
  must(duet.both.client.send_tensor(1, source_view(memory.data(), memory.size()), options), "send");
  ASSERT_TRUE(
      world.run_until([&] { return ended(*duet.client, 5) != Status::pending; }, seconds(20)));
  EXPECT_EQ(ended(*duet.client, 5), Status::peer_lost);
  EXPECT_LE(world.now(), Timestamp{} + seconds(8)) << "only the time-out has noticed";
}

}  // namespace
}  // namespace longhaul::simtest
