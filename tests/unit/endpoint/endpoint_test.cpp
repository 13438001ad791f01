// SPDX-License-Identifier: Apache-2.0
// What belongs to no connection, and what every request may rely on.
#include <gtest/gtest.h>

#include <array>

#include "lib/base/random.hpp"
#include "tests/unit/connection/network.hpp"
#include "tests/unit/connection/packets.hpp"

namespace longhaul::endpoint {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct EndpointTest : testing::Test {
  Network network;
  std::vector<Parcel> sent;  // by the endpoint under test, number 2
  SocketAddress stranger = address(9);

  EndpointTest() {
    network.on_leave = [&](Parcel& parcel) {
      if (parcel.from == address(2)) sent.push_back(parcel);
      return true;
    };
  }
  // The long header of an initial nobody in the network made.
  wire::LongHeader initial(std::uint64_t attempt = 77) {
    wire::LongHeader header;
    header.source_id = 1234;
    header.attempt = attempt;
    return header;
  }
  void ask(std::vector<std::byte> bytes) {
    network.inject(stranger, address(2), std::move(bytes));
    network.run(milliseconds(1));
  }
  static std::vector<std::byte> parameters() {
    std::vector<std::byte> encoded(200);
    encoded.resize(wire::write_transport_parameters({}, encoded));
    return frame_bytes(wire::TransportParametersFrame{encoded});
  }
  static std::uint64_t dropped(const Host& host, DropReason reason) {
    return host.endpoint.stats().dropped[static_cast<std::size_t>(reason)];
  }
};

TEST_F(EndpointTest, refusals_end_an_attempt_and_nothing_else) {
  Host& client = network.add(1);
  Host& server = network.add(2);
  network.connect(client, server);
  EXPECT_FALSE(client.endpoint.connecting());
  const std::array established{base::Refusal{address(2)}};
  const std::array nobody{base::Refusal{address(5)}};
  const auto refuse = [&](const auto& from) {
    for (int i = 0; i < 8; ++i) {
      network.run(milliseconds(250));
      client.endpoint.handle_refusals(network.now, from);
    }
    network.run(milliseconds(10));
  };
  refuse(established);
  EXPECT_EQ(client.connections.size(), 1u) << "an established connection believes no ICMP";
  client.endpoint.connect(network.now, {8, nobody[0].peer, seconds(10)});
  EXPECT_TRUE(client.endpoint.connecting());
  refuse(established);
  EXPECT_EQ(client.connections.size(), 1u) << "the address is another";
  refuse(nobody);
  ASSERT_EQ(client.connections.size(), 2u);
  EXPECT_EQ(client.connections.back().connection, 8u);
  EXPECT_EQ(client.connections.back().error, ErrorCode::refused);
  EXPECT_FALSE(client.endpoint.connecting());
  EXPECT_EQ(client.endpoint.stats().connections, 1u);
}

TEST_F(EndpointTest, the_shortest_round_trip_is_known_once_every_connection_has_measured_its_own) {
  Host& client = network.add(1);
  Host& server = network.add(2);
  EXPECT_EQ(client.endpoint.shortest_rtt(network.now), Duration::zero());
  network.connect(client, server);
  network.run(milliseconds(200));
  const Duration rtt = client.endpoint.shortest_rtt(network.now);
  EXPECT_GE(rtt, milliseconds(10));
  EXPECT_LE(rtt, milliseconds(11));
  client.endpoint.connect(network.now, {8, address(5), seconds(10)});
  network.run(milliseconds(200));
  EXPECT_EQ(client.endpoint.shortest_rtt(network.now), Duration::zero());
}

TEST_F(EndpointTest, a_size_the_own_system_refuses_is_not_tried_again) {
  EndpointConfig jumbo = Network::config();
  jumbo.mtu_max = 9000;
  Host& client = network.add(1, jumbo);
  Host& server = network.add(2, jumbo);
  std::vector<std::size_t> refused;
  network.on_leave = [&](Parcel& parcel) {
    const std::size_t size = parcel.bytes.size();
    if (parcel.from != address(1) || size <= 1472) return true;
    refused.push_back(size);
    const std::array too_big{base::TooBig{parcel.to, static_cast<std::uint32_t>(size)}};
    client.endpoint.handle_too_big(network.now, too_big);
    return false;
  };
  network.connect(client, server);
  network.run(milliseconds(50));
  // Ten steps from 9000 down to within 16 bytes of what passes, each at once and once.
  ASSERT_EQ(refused.size(), 10u);
  EXPECT_EQ(refused.front(), 8972u);
  EXPECT_TRUE(std::ranges::adjacent_find(refused, std::ranges::less_equal{}) == refused.end());
  EXPECT_EQ(client.endpoint.connection_stats(client.connections[0].connection)->max_datagram, 1472);
}

TEST_F(EndpointTest, an_initial_without_a_token_is_answered_with_one_and_leaves_no_state) {
  Host& server = network.add(2);
  server.endpoint.listen();
  ask(long_packet(initial(), parameters(), wire::kInitialDatagramMin));
  ASSERT_EQ(sent.size(), 1u);
  wire::LongError error{};
  const auto retry = wire::read_long_packet(sent[0].bytes, error);
  ASSERT_TRUE(retry.has_value());
  EXPECT_EQ(retry->header.type, wire::LongType::retry);
  EXPECT_EQ(retry->header.destination_id, 1234u);
  EXPECT_EQ(retry->header.attempt, 77u);
  EXPECT_LE(sent[0].bytes.size(), wire::kInitialDatagramMin);
  EXPECT_EQ(server.endpoint.stats().connections, 0u);

  wire::LongHeader again = initial();
  again.token = retry->header.token;
  ask(long_packet(again, parameters(), wire::kInitialDatagramMin));
  EXPECT_EQ(server.endpoint.stats().connections, 1u);
}

TEST_F(EndpointTest, a_late_copy_of_an_initial_makes_no_second_connection) {
  Host& client = network.add(1);
  Host& server = network.add(2);
  Parcel initial_with_token;
  network.on_leave = [&](Parcel& parcel) {
    if (parcel.from == address(1) && wire::is_long(parcel.bytes[0])) initial_with_token = parcel;
    return true;
  };
  network.connect(client, server);
  client.endpoint.close(network.now, client.opened, "");
  network.run(seconds(3));
  ASSERT_EQ(server.endpoint.stats().connections, 0u);
  const std::size_t told = server.connections.size();
  network.inject(address(1), address(2), initial_with_token.bytes);
  network.run(seconds(3));
  EXPECT_EQ(server.endpoint.stats().connections, 0u);
  EXPECT_EQ(server.connections.size(), told);
}

TEST_F(EndpointTest, a_token_of_another_attempt_or_address_opens_nothing) {
  Host& server = network.add(2);
  server.endpoint.listen();
  ask(long_packet(initial(), parameters(), wire::kInitialDatagramMin));
  wire::LongError error{};
  const auto retry = wire::read_long_packet(sent.at(0).bytes, error);
  wire::LongHeader again = initial(78);
  again.token = retry->header.token;
  ask(long_packet(again, parameters(), wire::kInitialDatagramMin));
  again = initial(77);
  again.token = retry->header.token;
  stranger = address(9, 1001);
  ask(long_packet(again, parameters(), wire::kInitialDatagramMin));
  EXPECT_EQ(server.endpoint.stats().connections, 0u);
  EXPECT_EQ(dropped(server, DropReason::invalid_token), 2u);
  EXPECT_EQ(sent.size(), 1u);
}

TEST_F(EndpointTest, a_small_initial_is_not_answered) {
  Host& server = network.add(2);
  server.endpoint.listen();
  ask(long_packet(initial(), parameters(), wire::kInitialDatagramMin - 1));
  EXPECT_TRUE(sent.empty());
  EXPECT_EQ(dropped(server, DropReason::too_short), 1u);
}

TEST_F(EndpointTest, an_unknown_version_is_answered_with_ours_if_the_question_was_large_enough) {
  network.add(2).endpoint.listen();
  wire::LongHeader header = initial();
  header.version = 0x99;
  ask(long_packet(header, {}, wire::kInitialDatagramMin));
  ask(long_packet(header, {}, wire::kInitialDatagramMin - 1));
  ASSERT_EQ(sent.size(), 1u);
  const auto versions = wire::read_version_negotiation(sent[0].bytes);
  ASSERT_TRUE(versions.has_value());
  EXPECT_EQ(*versions, std::vector<std::uint32_t>{wire::kVersion});
}

TEST_F(EndpointTest, version_negotiation_and_other_answers_are_never_answered) {
  network.add(2).endpoint.listen();
  std::vector<std::byte> bytes(100);
  constexpr std::array kVersions{0x99u};
  bytes.resize(wire::write_version_negotiation(5, 6, kVersions, bytes));
  ask(bytes);
  for (const auto type : {wire::LongType::retry, wire::LongType::accept}) {
    wire::LongHeader header = initial();
    header.type = type;
    ask(long_packet(header, parameters(), 1300));
  }
  EXPECT_TRUE(sent.empty());
}

TEST_F(EndpointTest, an_endpoint_that_does_not_listen_refuses) {
  Host& client = network.add(1);
  network.add(2);
  client.endpoint.connect(network.now, {1, address(2), seconds(5)});
  network.run(milliseconds(100));
  ASSERT_EQ(client.connections.size(), 1u);
  EXPECT_EQ(client.connections[0].status, Status::refused);
  EXPECT_EQ(client.connections[0].error, ErrorCode::refused);
  EXPECT_EQ(client.connections[0].reason, "nobody listens on this endpoint");
  EXPECT_EQ(client.endpoint.stats().connections, 0u);
}

TEST_F(EndpointTest, a_full_endpoint_refuses_others_and_itself) {
  EndpointConfig one = Network::config();
  one.connections_max = 1;
  Host& first = network.add(1);
  Host& server = network.add(2, one);
  Host& second = network.add(3);
  network.connect(first, server);
  second.endpoint.connect(network.now, {1, address(2), seconds(5)});
  server.endpoint.connect(network.now, {50, address(3), seconds(5)});
  network.run(milliseconds(100));
  ASSERT_EQ(second.connections.size(), 1u);
  EXPECT_EQ(second.connections[0].status, Status::refused);
  EXPECT_EQ(server.connections.back().status, Status::refused);
  EXPECT_EQ(server.connections.back().error, ErrorCode::budget_exceeded);
  EXPECT_EQ(server.endpoint.stats().connections, 1u);
}

TEST_F(EndpointTest, a_repeated_initial_finds_the_connection_it_made) {
  Host& client = network.add(1);
  Host& server = network.add(2);
  std::vector<Parcel> initials;
  network.on_leave = [&](Parcel& parcel) {
    if (parcel.from == address(1) && !is_short(parcel.bytes)) initials.push_back(parcel);
    return true;
  };
  network.connect(client, server);
  for (int i = 0; i < 20; ++i)
    for (const Parcel& parcel : initials) network.inject(parcel.from, parcel.to, parcel.bytes);
  network.run(milliseconds(500));
  EXPECT_EQ(server.endpoint.stats().connections, 1u);
  EXPECT_EQ(server.connections.size(), 1u);
  EXPECT_EQ(client.connections.size(), 1u);
}

TEST_F(EndpointTest, malformed_parameters_open_nothing) {
  EndpointConfig trusting = Network::config();
  trusting.validate_addresses = false;
  Host& server = network.add(2, trusting);
  server.endpoint.listen();
  ask(long_packet(initial(), frame_bytes(wire::Handshake{}), wire::kInitialDatagramMin));
  ask(long_packet(initial(), frame_bytes(wire::PathChallenge{1}), wire::kInitialDatagramMin));
  EXPECT_EQ(server.endpoint.stats().connections, 0u);
  EXPECT_TRUE(server.connections.empty());
}

TEST_F(EndpointTest, noise_is_counted_by_reason_and_never_answered_with_more_than_it_cost) {
  Host& server = network.add(2);
  server.endpoint.listen();
  base::Random random(7);
  std::size_t received = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::byte> bytes(random.below(1500));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    received += bytes.size();
    ask(std::move(bytes));
  }
  std::uint64_t drops = 0;
  for (const std::uint64_t each : server.endpoint.stats().dropped) drops += each;
  EXPECT_EQ(drops, 3000u);
  std::size_t answered = 0;
  for (const Parcel& parcel : sent) answered += parcel.bytes.size();
  EXPECT_LT(answered, received);
  EXPECT_EQ(server.endpoint.stats().connections, 0u);
}

TEST_F(EndpointTest, requests_to_a_connection_nobody_knows_end_closed_once) {
  Host& host = network.add(2);
  std::array<std::byte, 10> memory{};
  host.endpoint.send(network.now, {5, 1, 3, {{memory, Dtype::u8, Shape{10}}}, {.cookie = 9}});
  host.endpoint.receive(network.now, {5, 2, 3, {{memory, Dtype::u8, Shape{10}}}, {}});
  host.endpoint.cancel(network.now, 5, 1);
  host.endpoint.ready(network.now, 5, 1, 10);
  host.endpoint.close(network.now, 5, "bye");
  network.run(seconds(1));
  ASSERT_EQ(host.transfers.size(), 2u);
  EXPECT_EQ(host.status(1), Status::closed);
  EXPECT_EQ(host.status(2), Status::closed);
  EXPECT_EQ(host.transfers[1].cookie, 9u);
  EXPECT_EQ(host.transfers[1].bytes, 10u);
}

TEST_F(EndpointTest, requests_to_a_connection_that_is_closing_end_closed_once) {
  Host& client = network.add(1);
  Host& server = network.add(2);
  network.connect(client, server);
  client.endpoint.close(network.now, client.opened, "bye");
  network.transfer(client, server, 1, 100);
  network.transfer(server, client, 2, 100);
  network.run(seconds(5));
  for (const TransferId id : {1u, 2u}) {
    EXPECT_EQ(client.status(id), Status::closed) << id;
    EXPECT_EQ(server.status(id), Status::closed) << id;
  }
  EXPECT_EQ(client.endpoint.stats().connections, 0u);
  EXPECT_EQ(server.endpoint.stats().connections, 0u);
}

TEST_F(EndpointTest, requests_before_the_handshake_is_over_wait_for_it) {
  Host& client = network.add(1);
  Host& server = network.add(2);
  server.endpoint.listen();
  client.endpoint.connect(network.now, {1, address(2), seconds(5)});
  client.opened = 1;
  std::vector<std::byte> memory(5000, std::byte{3});
  std::vector<std::byte> target(5000);
  client.endpoint.send(network.now, {1, 1, 3, {{memory, Dtype::u8, Shape{5000}}}, {}});
  network.run(seconds(1), [&] { return server.opened != 0; });
  server.endpoint.receive(network.now,
                          {server.opened, 1, 3, {{target, Dtype::u8, Shape{5000}}}, {}});
  network.run(seconds(1), [&] { return client.status(1) != Status::pending; });
  EXPECT_EQ(client.status(1), Status::completed);
  EXPECT_EQ(target, memory);
}

TEST_F(EndpointTest, requests_of_a_connection_that_never_opens_end_with_it) {
  Host& client = network.add(1);
  client.endpoint.connect(network.now, {1, address(2), milliseconds(300)});
  client.opened = 1;
  std::array<std::byte, 10> memory{};
  client.endpoint.send(network.now, {1, 1, 3, {{memory, Dtype::u8, Shape{10}}}, {}});
  network.run(seconds(1));
  ASSERT_EQ(client.connections.size(), 1u);
  EXPECT_EQ(client.connections[0].status, Status::timed_out);
  EXPECT_EQ(client.connections[0].error, ErrorCode::timed_out);
  EXPECT_EQ(client.status(1), Status::timed_out);
}

TEST_F(EndpointTest, a_busy_connection_does_not_starve_the_others) {
  Host& server = network.add(2);
  std::vector<Host*> clients;
  for (std::uint8_t i = 10; i < 14; ++i) {
    clients.push_back(&network.add(i));
    network.connect(*clients.back(), server);
    const TransferId id = i;
    network.transfer(*clients.back(), server, id, 500'000);
  }
  network.run(milliseconds(80));
  for (Host* client : clients) {
    const auto stats = client->endpoint.connection_stats(client->opened);
    ASSERT_TRUE(stats.has_value());
    EXPECT_GT(stats->tensor_bytes_sent, 300'000u);
  }
  network.run(seconds(2));
  for (TransferId id = 10; id < 14; ++id) EXPECT_EQ(server.status(id), Status::completed);
}

}  // namespace
}  // namespace longhaul::endpoint
