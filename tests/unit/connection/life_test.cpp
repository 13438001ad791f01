// SPDX-License-Identifier: Apache-2.0
// Birth, silence and end of a connection, on a line in memory.
#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "tests/unit/connection/network.hpp"
#include "tests/unit/connection/packets.hpp"

namespace longhaul::endpoint {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct LifeTest : testing::Test {
  Network network;
  Host& client = network.add(1);
  Host& server = network.add(2);

  // From now on nothing gets through.
  void cut() {
    network.on_leave = [](Parcel&) { return false; };
  }
};

TEST_F(LifeTest, with_address_validation_the_client_is_connected_after_two_round_trips) {
  const Timestamp begin = network.now;
  network.connect(client, server);
  EXPECT_EQ(network.now - begin, milliseconds(20));
  EXPECT_EQ(client.connections.at(0).kind, ConnectionEvent::Kind::connected);
  EXPECT_EQ(server.connections.at(0).kind, ConnectionEvent::Kind::incoming);
  EXPECT_EQ(server.connections.at(0).remote, client.address);
  EXPECT_NE(server.opened & kIncomingBit, 0u);
}

TEST_F(LifeTest, without_it_one_round_trip_is_enough) {
  EndpointConfig trusting = Network::config();
  trusting.validate_addresses = false;
  Host& other = network.add(3, trusting);
  const Timestamp begin = network.now;
  network.connect(client, other);
  EXPECT_EQ(network.now - begin, milliseconds(10));
}

TEST_F(LifeTest, any_one_lost_packet_only_delays_the_handshake) {
  for (int victim = 0; victim < 6; ++victim) {
    Network line;
    Host& from = line.add(1);
    Host& to = line.add(2);
    int count = 0;
    line.on_leave = [&](Parcel&) { return count++ != victim; };
    line.connect(from, to);
    line.transfer(from, to, 1, 10'000);
    line.run(seconds(2), [&] { return to.status(1) != Status::pending; });
    EXPECT_EQ(to.status(1), Status::completed) << "without packet " << victim;
  }
}

TEST_F(LifeTest, a_handshake_survives_half_of_its_packets) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Network line;
    Host& from = line.add(1);
    Host& to = line.add(2);
    base::Random random(seed);
    line.on_leave = [&](Parcel&) { return random.below(2) == 0; };
    // Some sixty tries, of which a retry and an answer have to get through: 1 in 4 each.
    line.connect(from, to, seconds(60));
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    EXPECT_EQ(to.endpoint.stats().connections, 1u);
  }
}

TEST_F(LifeTest, an_idle_connection_lives_on_heartbeats_and_sleeps_between_them) {
  network.connect(client, server);
  network.run(seconds(1));
  std::size_t datagrams = 0;
  network.on_leave = [&](Parcel&) { return ++datagrams > 0; };
  network.wakeups = 0;
  network.run(seconds(20));
  EXPECT_EQ(client.connections.size(), 1u);
  // 50 heartbeats each way, their answers, and a search for a larger MTU.
  EXPECT_LT(datagrams, 250u);
  EXPECT_LT(network.wakeups, 3000u);
}

// Announcements are data to the line they cross.
TEST_F(LifeTest, ten_thousand_small_transfers_keep_to_the_rate) {
  EndpointConfig slow = Network::config();
  slow.rate_bps = 2'000'000;
  Host& from = network.add(11, slow);
  Host& to = network.add(12, slow);
  network.connect(from, to);
  network.run(seconds(3));
  std::map<std::int64_t, std::size_t> bytes;  // that left `from`, by tenth of a second
  network.on_leave = [&](Parcel& parcel) {
    if (parcel.from == from.address)
      bytes[network.now.time_since_epoch() / milliseconds(100)] += parcel.bytes.size();
    return true;
  };
  constexpr TransferId kCount = 10'000;
  for (TransferId id = 1; id <= kCount; ++id) network.transfer(from, to, id, 100);
  network.run(seconds(60), [&] { return from.transfers.size() == kCount; });
  EXPECT_EQ(from.transfers.size(), kCount);
  for (const auto& [tenth, sum] : bytes)
    EXPECT_LT(sum, 30'000u) << "a tenth of a second has 25,000";
}

TEST_F(LifeTest, a_peer_not_heard_of_is_lost_with_everything_it_owed) {
  network.connect(client, server);
  network.transfer(client, server, 1, 10'000'000);
  network.run(milliseconds(100));
  cut();
  const Timestamp begin = network.now;
  network.run(seconds(10), [&] { return client.transfers.size() + server.transfers.size() == 2; });
  EXPECT_EQ(client.status(1), Status::peer_lost);
  EXPECT_EQ(server.status(1), Status::peer_lost);
  EXPECT_GE(network.now - begin, milliseconds(1900));
  EXPECT_LE(network.now - begin, milliseconds(2100));
  EXPECT_EQ(client.connections.back().kind, ConnectionEvent::Kind::disconnected);
  EXPECT_EQ(client.connections.back().error, ErrorCode::peer_lost);
  EXPECT_EQ(client.endpoint.stats().connections, 0u);
}

TEST_F(LifeTest, an_outage_shorter_than_the_peer_timeout_is_survived) {
  network.connect(client, server);
  network.transfer(client, server, 1, 2'000'000);
  network.run(milliseconds(50));
  cut();
  network.run(milliseconds(1500));
  network.on_leave = [](Parcel&) { return true; };
  const Timestamp back = network.now;
  network.run(seconds(5), [&] { return client.status(1) != Status::pending; });
  EXPECT_EQ(client.status(1), Status::completed);
  EXPECT_TRUE(network.arrived_whole(1));
  EXPECT_LT(network.now - back, milliseconds(700));  // 2 MB at 100 Mbit/s take 160 ms
}

TEST_F(LifeTest, what_a_peer_gives_as_its_reason_is_made_plain) {
  network.connect(client, server);
  network.transfer(client, server, 1, 10'000'000);
  network.run(milliseconds(50));
  client.endpoint.close(network.now, client.opened,
                        "\x1b[2Jgone\r\nlonghaul: all is well \xc2\x9bm \xff");
  network.run(milliseconds(6));
  EXPECT_EQ(server.transfers[1].reason, "?[2Jgone??longhaul: all is well ?m ?");
  EXPECT_EQ(server.connections.back().reason, "?[2Jgone??longhaul: all is well ?m ?");
}

TEST_F(LifeTest, a_close_ends_both_ends_with_its_reason) {
  network.connect(client, server);
  network.transfer(client, server, 1, 10'000'000);
  network.run(milliseconds(50));
  client.endpoint.close(network.now, client.opened, "enough");
  network.run(milliseconds(6));
  EXPECT_EQ(client.status(1), Status::closed);
  EXPECT_EQ(server.status(1), Status::closed);
  EXPECT_EQ(server.transfers[1].reason, "enough");
  EXPECT_EQ(server.connections.back().reason, "enough");
  network.run(seconds(1));
  EXPECT_EQ(client.endpoint.stats().connections, 0u);
  EXPECT_EQ(server.endpoint.stats().connections, 0u);
  EXPECT_EQ(client.endpoint.next_timeout(), kNever);
  EXPECT_EQ(server.endpoint.next_timeout(), kNever);
}

TEST_F(LifeTest, a_close_whose_first_copies_are_lost_is_still_heard) {
  network.connect(client, server);
  client.endpoint.close(network.now, client.opened, "enough");
  int dropped = 0;
  network.on_leave = [&](Parcel& parcel) { return parcel.from != client.address || ++dropped > 2; };
  network.run(seconds(1));
  ASSERT_EQ(server.connections.size(), 2u);
  EXPECT_EQ(server.connections.back().status, Status::closed);
}

TEST_F(LifeTest, both_ends_may_close_at_the_same_time) {
  network.connect(client, server);
  network.transfer(client, server, 1, 1'000'000);
  client.endpoint.close(network.now, client.opened, "a");
  server.endpoint.close(network.now, server.opened, "b");
  network.run(seconds(2));
  EXPECT_EQ(client.connections.size(), 2u);
  EXPECT_EQ(server.connections.size(), 2u);
  EXPECT_EQ(client.endpoint.stats().connections, 0u);
}

TEST_F(LifeTest, a_close_before_the_handshake_is_over_ends_it_at_once) {
  client.endpoint.connect(network.now, {1, server.address, seconds(5)});
  client.endpoint.close(network.now, 1, "changed my mind");
  network.run(milliseconds(1));
  ASSERT_EQ(client.connections.size(), 1u);
  EXPECT_EQ(client.connections[0].status, Status::closed);
  EXPECT_EQ(client.endpoint.stats().connections, 0u);
}

TEST_F(LifeTest, closing_everything_leaves_nothing) {
  Host& third = network.add(3);
  network.connect(client, server);
  network.connect(third, server);
  network.transfer(third, server, 1, 1'000'000);
  server.endpoint.close_all(network.now, "shutting down");
  network.run(seconds(2));
  EXPECT_EQ(third.status(1), Status::closed);
  EXPECT_EQ(client.connections.back().reason, "shutting down");
  for (Host* host : {&client, &server, &third}) {
    EXPECT_EQ(host->endpoint.stats().connections, 0u);
    EXPECT_EQ(host->endpoint.next_timeout(), kNever);
  }
}

}  // namespace
}  // namespace longhaul::endpoint
