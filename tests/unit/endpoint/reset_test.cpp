// SPDX-License-Identifier: Apache-2.0
// Stateless resets: how a peer learns that the other end lost its memory, and nobody else can.
#include <gtest/gtest.h>

#include "tests/unit/connection/network.hpp"
#include "tests/unit/connection/packets.hpp"

namespace longhaul::endpoint {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<std::byte> reset_packet(std::uint32_t cid, const wire::ResetToken& token,
                                    std::size_t size = wire::kResetDatagramMin) {
  std::vector<std::byte> bytes(size, std::byte{0x55});
  wire::write_reset(cid, token, bytes);
  return bytes;
}

struct ResetTest : testing::Test {
  Network network;
  Host* client = nullptr;
  Host* server = nullptr;
  std::uint32_t server_cid = 0;  // what the client addresses
  std::vector<Parcel> resets;

  void SetUp() override {
    EndpointConfig config = Network::config();
    config.stateless_reset_key = "survives a restart";
    client = &network.add(1);
    server = &network.add(2, config);
    network.on_leave = [&](Parcel& parcel) {
      if (const auto reset = wire::read_reset(parcel.bytes)) {
        resets.push_back(parcel);
      } else if (parcel.from == address(1)) {
        if (const auto header = wire::read_short_header(parcel.bytes))
          server_cid = header->connection_id;
      }
      return true;
    };
    network.connect(*client, *server);
    network.run(milliseconds(50));
    ASSERT_NE(server_cid, 0u);
  }
};

TEST_F(ResetTest, a_peer_that_restarted_ends_the_connection_within_a_round_trip) {
  network.transfer(*client, *server, 1, 100'000);
  // A new endpoint in the same place, with the same key, has never heard of the connection.
  const SocketAddress place = server->address;
  server->address = address(77);
  EndpointConfig config = Network::config();
  config.stateless_reset_key = "survives a restart";
  network.add(2, config, Network::environment(99)).address = place;
  network.run(milliseconds(600), [&] { return client->status(1) != Status::pending; });
  EXPECT_EQ(client->status(1), Status::peer_lost);
  EXPECT_EQ(client->connections.back().status, Status::peer_lost);
  EXPECT_NE(client->connections.back().reason.find("restarted"), std::string::npos);
  EXPECT_FALSE(resets.empty());
}

TEST_F(ResetTest, an_idle_client_learns_of_the_restart_with_its_next_heartbeat) {
  const SocketAddress place = server->address;
  server->address = address(77);
  EndpointConfig config = Network::config();
  config.stateless_reset_key = "survives a restart";
  network.add(2, config, Network::environment(99)).address = place;
  network.on_leave = [](Parcel& parcel) { return parcel.from != address(77); };
  const auto over = [&] { return client->connections.back().status == Status::peer_lost; };
  network.run(config.peer_timeout / 5 + milliseconds(200), over);
  EXPECT_TRUE(over());
}

// Whoever restarts while the sender's window is full hears only questions, the smallest of packets.
TEST_F(ResetTest, a_peer_that_was_gone_for_a_while_is_known_by_its_answer_to_small_packets) {
  network.transfer(*client, *server, 1, 100'000);
  const SocketAddress place = server->address;
  server->address = address(77);
  network.on_leave = [](Parcel& parcel) { return parcel.from != address(77); };
  network.run(milliseconds(800));
  ASSERT_EQ(client->status(1), Status::pending);
  EndpointConfig config = Network::config();
  config.stateless_reset_key = "survives a restart";
  network.add(2, config, Network::environment(99)).address = place;
  network.run(milliseconds(600), [&] { return client->status(1) != Status::pending; });
  EXPECT_EQ(client->status(1), Status::peer_lost);
  EXPECT_NE(client->connections.back().reason.find("restarted"), std::string::npos);
}

TEST_F(ResetTest, a_wrong_token_ends_nothing) {
  network.inject(address(2), address(1), reset_packet(server_cid, {std::byte{1}}));
  network.run(milliseconds(100));
  EXPECT_EQ(client->connections.size(), 1u);
  network.transfer(*client, *server, 1, 10'000);
  network.run(seconds(1), [&] { return client->status(1) != Status::pending; });
  EXPECT_EQ(client->status(1), Status::completed);
}

TEST_F(ResetTest, the_right_token_from_the_wrong_place_ends_nothing) {
  // The server answers unknown IDs with tokens; the one for its own live ID is never told.
  wire::ShortHeader header;
  header.connection_id = server_cid ^ 1;
  header.space = 1;
  network.inject(address(1), address(2), short_packet(header, std::vector<std::byte>(100)));
  network.run(milliseconds(20));
  ASSERT_EQ(resets.size(), 1u);
  const auto reset = wire::read_reset(resets[0].bytes);
  network.inject(address(2), address(1), reset_packet(server_cid, reset->token));
  network.inject(address(9), address(1), resets[0].bytes);
  network.run(milliseconds(100));
  EXPECT_EQ(client->connections.size(), 1u);
}

TEST_F(ResetTest, a_reset_never_answers_a_reset_nor_anything_as_small_as_one) {
  const std::size_t before = resets.size();
  network.inject(address(9), address(2), reset_packet(4711, {std::byte{1}}, 200));
  for (const std::size_t body : {0u, 5u, 17u})
    network.inject(address(9), address(2), control_packet(4711, 0, std::vector<std::byte>(body)));
  network.run(milliseconds(20));
  EXPECT_EQ(resets.size(), before);
  network.inject(address(9), address(2), control_packet(4711, 0, std::vector<std::byte>(18)));
  network.run(milliseconds(20));
  ASSERT_EQ(resets.size(), before + 1);
  EXPECT_LT(resets.back().bytes.size(), 15u + 18u);
}

TEST_F(ResetTest, two_endpoints_that_know_nothing_of_each_other_fall_silent) {
  std::size_t datagrams = 0;
  network.on_leave = [&](Parcel& parcel) {
    datagrams += parcel.from == address(3) || parcel.from == address(4) ? 1U : 0U;
    return true;
  };
  network.add(3);
  network.add(4);
  network.inject(address(3), address(4), control_packet(4711, 0, std::vector<std::byte>(500)));
  network.run(milliseconds(300));
  EXPECT_EQ(datagrams, 1u);  // one reset
}

TEST_F(ResetTest, a_flood_for_unknown_connections_is_answered_with_a_ration) {
  const auto packet = control_packet(4711, 0, std::vector<std::byte>(500));
  std::vector<base::RxDatagram> burst(64);
  for (int i = 0; i < 1000; ++i) {
    auto bytes = packet;
    for (base::RxDatagram& datagram : burst) {
      datagram.data = bytes;
      datagram.remote = address(9);
    }
    server->endpoint.handle_datagrams(network.now, burst);
    network.run(Duration{1});
  }
  EXPECT_LT(resets.size(), 5000u);
  EXPECT_EQ(
      server->endpoint.stats().dropped[static_cast<std::size_t>(DropReason::unknown_connection)],
      64'000u);
}

}  // namespace
}  // namespace longhaul::endpoint
