// SPDX-License-Identifier: Apache-2.0
// A peer that breaks the protocol ends its own connection, and nothing else.
#include <gtest/gtest.h>

#include <memory>

#include "lib/base/random.hpp"
#include "tests/unit/connection/network.hpp"
#include "tests/unit/connection/packets.hpp"

namespace longhaul::endpoint {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A connection, and a voice that can speak as its client.
struct Scene {
  Network network;
  Host& client = network.add(1);
  Host& server = network.add(2);
  std::uint32_t server_cid = 0;
  std::uint32_t number = 1000;  // ahead of what the client has sent

  Scene() {
    network.on_leave = [this](Parcel& parcel) {
      if (parcel.from != client.address) return true;
      if (const auto header = wire::read_short_header(parcel.bytes))
        server_cid = header->connection_id;
      return true;
    };
    network.connect(client, server);
    network.run(milliseconds(30));
    EXPECT_NE(server_cid, 0u);
  }
  void say(const std::vector<std::byte>& body) {
    network.inject(client.address, server.address, control_packet(server_cid, number++, body));
    network.run(milliseconds(1));
  }
  void say(const wire::Frame& frame) { say(frame_bytes(frame)); }
  bool server_lives() const { return server.connections.size() == 1; }
  void expect_violation() const {
    ASSERT_EQ(server.connections.size(), 2u);
    EXPECT_EQ(server.connections.back().status, Status::closed);
    EXPECT_EQ(server.connections.back().reason, "the peer broke the protocol");
  }
};

struct ViolationTest : testing::Test, Scene {};

// It is no violation, but nobody honest does it.
TEST_F(ViolationTest, pings_with_every_second_number_are_not_answered_with_a_flood) {
  std::size_t in = 0;
  std::size_t out = 0;
  network.on_leave = [&](Parcel& parcel) {
    if (parcel.from != server.address) return true;
    out += parcel.bytes.size();
    return false;  // who floods does not listen, nor raise floors
  };
  for (int i = 0; i < 20'000; ++i, number += 2) {
    const auto ping = control_packet(server_cid, number, frame_bytes(wire::Ping{}));
    in += ping.size();
    network.inject(client.address, server.address, ping);
    network.run(std::chrono::microseconds(25));
  }
  EXPECT_TRUE(server_lives());
  // An answer of 50 bytes to 18, and not to every one.
  EXPECT_LT(out, 4 * in);
  EXPECT_GT(out, in / 10);
}

TEST_F(ViolationTest, an_acknowledgement_of_what_was_never_sent_closes) {
  network.transfer(server, client, 1, 1'000'000);
  network.run(milliseconds(30));
  wire::Ack ack;
  ack.space = 3;
  ack.largest = 100'000;
  say(ack);
  expect_violation();
  EXPECT_EQ(server.status(1), Status::closed);
  network.run(milliseconds(20));
  EXPECT_EQ(client.status(1), Status::closed);
}

TEST_F(ViolationTest, frames_that_cannot_be_close) {
  const std::vector<wire::Frame> impossible{
      wire::Ack{.space = 77},
      wire::Floor{0, 1},
      wire::TransportParametersFrame{},
      wire::SendEnd{1, 0, Status::completed, {}},
      wire::ReceiveEnd{1, 0, Status::completed, 5, {}},
  };
  for (const wire::Frame& frame : impossible) {
    Scene scene;
    scene.say(frame);
    scene.expect_violation();
  }
}

TEST_F(ViolationTest, an_unknown_frame_closes_unless_it_is_optional) {
  say({std::byte{0x90}, std::byte{0}, std::byte{2}, std::byte{1}, std::byte{2}});
  EXPECT_TRUE(server_lives());
  say({std::byte{0x30}, std::byte{0}, std::byte{0}});
  expect_violation();
}

TEST_F(ViolationTest, a_truncated_frame_closes) {
  auto body = frame_bytes(wire::Posted{1, 2, 3, 4});
  body.resize(body.size() - 2);
  say(body);
  expect_violation();
}

TEST_F(ViolationTest, random_bodies_never_do_more_than_close) {
  base::Random random(11);
  auto scene = std::make_unique<Scene>();
  for (int i = 0; i < 500; ++i) {
    std::vector<std::byte> body(1 + random.below(300));
    for (std::byte& byte : body) byte = static_cast<std::byte>(random.below(24));
    scene->say(body);
    if (scene->server_lives()) continue;
    scene->network.run(seconds(5));
    ASSERT_EQ(scene->server.endpoint.stats().connections, 0u);
    scene = std::make_unique<Scene>();
  }
}

TEST_F(ViolationTest, a_forged_chunk_with_a_right_checksum_costs_a_refetch_and_no_wrong_byte) {
  std::uint32_t seen = 0;
  network.on_leave = [&](Parcel& parcel) {
    const auto header = wire::read_short_header(parcel.bytes);
    if (parcel.from != client.address || !header) return true;
    if (header->type != wire::PacketType::source || ++seen != 20) return true;
    const std::size_t begin = wire::kSourceHeaderBytes + wire::kCrcBytes;
    std::vector<std::byte> body(parcel.bytes.begin() + begin, parcel.bytes.end());
    body[7] ^= std::byte{0x10};
    parcel.bytes = short_packet(*header, body);
    return true;
  };
  network.transfer(client, server, 1, 300'000);
  network.run(seconds(2), [&] { return client.status(1) != Status::pending; });
  EXPECT_EQ(client.status(1), Status::completed);
  EXPECT_TRUE(network.arrived_whole(1));
  EXPECT_EQ(server.endpoint.connection_stats(server.opened)->pieces_refetched, 1u);
}

}  // namespace
}  // namespace longhaul::endpoint
