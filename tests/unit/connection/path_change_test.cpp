// SPDX-License-Identifier: Apache-2.0
// A peer under a new address, an address nobody has proven, a path that carries less or more.
#include <gtest/gtest.h>

#include "tests/unit/connection/network.hpp"
#include "tests/unit/connection/packets.hpp"

namespace longhaul::endpoint {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct PathChangeTest : testing::Test {
  Network network;
  Host& client = network.add(1);
  Host& server = network.add(2);

  ConnectionStats stats(Host& host) { return *host.endpoint.connection_stats(host.opened); }
};

TEST_F(PathChangeTest, a_peer_whose_address_changes_goes_on_after_one_challenge) {
  network.connect(client, server);
  network.transfer(server, client, 1, 3'000'000);
  network.run(milliseconds(100));
  client.address = address(1, 2222);
  const Timestamp moved = network.now;
  // It has something to say about every packet that was under way, and then a heartbeat.
  network.run(seconds(3), [&] { return stats(server).migrations == 1; });
  EXPECT_EQ(stats(server).migrations, 1u);
  EXPECT_LT(network.now - moved, milliseconds(450));
  network.run(seconds(3), [&] { return server.status(1) != Status::pending; });
  EXPECT_EQ(server.status(1), Status::completed);
  EXPECT_TRUE(network.arrived_whole(1));
  EXPECT_EQ(client.connections.size(), 1u);
  const ConnectionEvent& told = server.connections.back();
  EXPECT_EQ(told.kind, ConnectionEvent::Kind::moved);
  EXPECT_EQ(told.remote, address(1, 2222));
}

TEST_F(PathChangeTest, a_new_address_gets_at_most_three_times_what_came_from_it) {
  network.connect(client, server);
  network.transfer(server, client, 1, 3'000'000);
  network.run(milliseconds(100));
  const SocketAddress claimed = address(66);
  std::size_t heard = 0;
  std::size_t said = 0;
  network.on_leave = [&](Parcel& parcel) {
    if (parcel.to == claimed) said += parcel.bytes.size();
    EXPECT_LE(said, 3 * heard);
    // One packet of the client seems to come from elsewhere; nobody answers there.
    if (parcel.from == client.address && heard < 500) {
      parcel.from = claimed;
      heard += parcel.bytes.size();
    }
    return true;
  };
  network.run(seconds(3), [&] { return server.status(1) != Status::pending; });
  EXPECT_GT(said, 0u);
  EXPECT_EQ(stats(server).migrations, 0u);
  EXPECT_EQ(server.status(1), Status::completed);
}

TEST_F(PathChangeTest, a_late_packet_from_the_old_address_moves_nothing_back) {
  network.connect(client, server);
  network.transfer(server, client, 1, 1'000'000);
  std::vector<Parcel> old;
  network.on_leave = [&](Parcel& parcel) {
    if (parcel.from == address(1) && old.size() < 50) {
      old.push_back(parcel);
      return old.size() % 2 == 0;
    }
    return true;
  };
  network.run(milliseconds(40));
  client.address = address(1, 2222);
  network.run(seconds(1), [&] { return stats(server).migrations == 1; });
  for (const Parcel& parcel : old) network.inject(parcel.from, parcel.to, parcel.bytes);
  std::size_t to_old = 0;
  network.on_leave = [&](Parcel& parcel) {
    to_old += parcel.to == address(1) ? 1U : 0U;
    return true;
  };
  network.run(seconds(3), [&] { return server.status(1) != Status::pending; });
  EXPECT_EQ(server.status(1), Status::completed);
  EXPECT_EQ(to_old, 0u);
  EXPECT_EQ(stats(server).migrations, 1u);
}

// Somebody beside the line copies what the client says, sends it on from an address of his own, and
// is always first; what he gets he passes to the client, so that his address answers challenges.
struct RelayTest : PathChangeTest {
  SocketAddress relay = address(66);
  std::size_t to_relay = 0;
  std::size_t challenges_to_relay = 0;
  std::size_t copied = 0;

  void SetUp() override {
    network.connect(client, server);
    network.run(milliseconds(50));
    network.on_leave = [this](Parcel& parcel) {
      if (parcel.from == client.address && parcel.to == server.address) {
        ++copied;
        network.inject(relay, server.address, parcel.bytes);
      } else if (parcel.to == relay) {
        to_relay += parcel.bytes.size();
        ++challenges_to_relay;
        network.inject(server.address, client.address, parcel.bytes);
      }
      return true;
    };
  }
};

TEST_F(RelayTest, who_wins_every_race_does_not_take_the_path) {
  network.transfer(server, client, 1, 3'000'000);
  network.transfer(client, server, 2, 3'000'000);
  network.run(seconds(10), [&] {
    return server.status(1) != Status::pending && client.status(2) != Status::pending;
  });
  EXPECT_EQ(server.status(1), Status::completed);
  EXPECT_TRUE(network.arrived_whole(1) && network.arrived_whole(2));
  EXPECT_GT(copied, 100u);
  EXPECT_GT(challenges_to_relay, 0u);
  EXPECT_LT(to_relay, 1000u) << "questions, and not the tensor";
  EXPECT_EQ(stats(server).migrations, 0u);
  EXPECT_EQ(server.connections.size(), 1u);
}

TEST_F(RelayTest, a_client_that_really_moves_is_followed_all_the_same) {
  network.transfer(server, client, 1, 3'000'000);
  network.run(milliseconds(100));
  network.on_leave = [](Parcel&) { return true; };
  client.address = address(1, 2222);
  network.run(seconds(5), [&] { return server.status(1) != Status::pending; });
  EXPECT_EQ(server.status(1), Status::completed);
  EXPECT_EQ(stats(server).migrations, 1u);
}

TEST_F(PathChangeTest, an_address_that_does_not_answer_for_itself_is_not_moved_to) {
  network.connect(client, server);
  network.run(milliseconds(50));
  const SocketAddress victim = address(66);
  std::size_t to_victim = 0;
  bool claimed = false;
  // The client claims another's address, cuts its own off, and answers from where it is.
  network.on_leave = [&](Parcel& parcel) {
    if (parcel.to == victim) {
      to_victim += parcel.bytes.size();
      network.inject(server.address, client.address, parcel.bytes);
    }
    if (parcel.from == client.address && !claimed) {
      claimed = true;
      parcel.from = victim;
    }
    return parcel.to != client.address;
  };
  network.transfer(server, client, 1, 3'000'000);
  network.transfer(client, server, 2, 30'000);
  network.run(seconds(2));
  EXPECT_GT(to_victim, 0u);
  EXPECT_LT(to_victim, 1000u);
  EXPECT_EQ(stats(server).migrations, 0u);
}

TEST_F(PathChangeTest, an_address_that_proved_nothing_gets_at_most_three_times_what_it_sent) {
  EndpointConfig trusting = Network::config();
  trusting.validate_addresses = false;
  trusting.mtu_max = 9000;
  Host& open = network.add(3, trusting);
  open.endpoint.listen();
  std::size_t heard = 0;
  std::size_t said = 0;
  network.on_leave = [&](Parcel& parcel) {
    if (parcel.from == client.address) heard += parcel.bytes.size();
    if (parcel.from == open.address) said += parcel.bytes.size();
    EXPECT_LE(said, 3 * heard);
    return parcel.to != client.address;  // the client hears nothing: it may be somebody else
  };
  client.endpoint.connect(network.now, {1, open.address, milliseconds(100)});
  network.run(milliseconds(10));
  ASSERT_NE(open.opened, 0u);
  // The application answers at once, with a lot.
  std::vector<std::byte> bytes(1'000'000);
  open.endpoint.send(network.now,
                     {open.opened, 1, 7, {{bytes, Dtype::u8, Shape{bytes.size()}}}, {}});
  network.run(seconds(4));
  EXPECT_EQ(open.status(1), Status::peer_lost);
  EXPECT_GT(said, 0u);
}

TEST_F(PathChangeTest, such_an_address_is_trusted_with_its_first_packet_of_the_connection) {
  EndpointConfig trusting = Network::config();
  trusting.validate_addresses = false;
  Host& open = network.add(3, trusting);
  network.connect(client, open);
  network.transfer(open, client, 1, 1'000'000);
  network.run(seconds(1), [&] { return client.status(1) != Status::pending; });
  EXPECT_EQ(client.status(1), Status::completed);
}

// A line that carries IP packets up to `mtu`.
std::function<bool(Parcel&)> carries(const std::size_t& mtu) {
  return [&mtu](Parcel& parcel) { return parcel.bytes.size() + 28 <= mtu; };
}

struct MtuTest : PathChangeTest {
  Host* large_client = nullptr;
  Host* large_server = nullptr;
  std::size_t mtu = 9000;

  void SetUp() override {
    EndpointConfig config = Network::config();
    config.mtu_max = 9000;
    large_client = &network.add(11, config);
    large_server = &network.add(12, config);
    network.on_leave = carries(mtu);
  }
};

TEST_F(MtuTest, probes_find_what_the_path_carries) {
  for (const std::size_t carried : {9000u, 4321u, 1500u, 1280u}) {
    mtu = carried;
    network.connect(*large_client, *large_server);
    network.transfer(*large_client, *large_server, carried, 2'000'000);
    network.run(seconds(4));
    EXPECT_EQ(large_client->status(carried), Status::completed);
    EXPECT_LE(stats(*large_client).max_datagram, carried - 28);
    EXPECT_GE(stats(*large_client).max_datagram, carried - 28 - 16);
    EXPECT_EQ(stats(*large_client).mtu_black_holes, 0u);
  }
}

TEST_F(MtuTest, a_path_that_shrinks_under_a_transfer_costs_time_and_no_byte) {
  network.connect(*large_client, *large_server);
  network.transfer(*large_client, *large_server, 1, 8'000'000);
  network.run(milliseconds(300));
  EXPECT_GT(stats(*large_client).max_datagram, 8900u);
  mtu = 1500;
  network.run(seconds(5), [&] { return large_client->status(1) != Status::pending; });
  EXPECT_EQ(large_client->status(1), Status::completed);
  EXPECT_TRUE(network.arrived_whole(1));
  EXPECT_EQ(stats(*large_client).mtu_black_holes, 1u);
  EXPECT_LE(stats(*large_client).max_datagram, 1472u);
  network.run(seconds(1));  // copies the receiver did not need any more
  EXPECT_EQ(stats(*large_client).bytes_in_flight, 0u);
}

}  // namespace
}  // namespace longhaul::endpoint
