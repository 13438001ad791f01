// SPDX-License-Identifier: Apache-2.0
// What stands in the IP header and in bits nobody reads.
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/connection/network.hpp"
#include "tests/unit/connection/packets.hpp"

namespace longhaul::endpoint {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct MarkingTest : testing::Test {
  Network network;
  std::vector<Parcel> all;

  void SetUp() override {
    EndpointConfig config = Network::config();
    config.dscp.codepoints = {11, 12, 13, 14};
    Host& client = network.add(1, config);
    Host& server = network.add(2, config);
    int count = 0;
    network.on_leave = [&, count](Parcel& parcel) mutable {
      all.push_back(parcel);
      return ++count % 23 != 0;  // losses, so that there are repeats and markers too
    };
    network.connect(client, server);
    TransferId id = 0;
    for (const auto c : {TrafficClass::critical, TrafficClass::bulk, TrafficClass::scavenger})
      network.transfer(client, server, ++id, 200'000, {.traffic_class = c});
    network.run(seconds(3));
    for (; id > 0; --id) ASSERT_EQ(client.status(id), Status::completed);
  }
};

TEST_F(MarkingTest, every_packet_carries_the_codepoint_of_its_class) {
  std::set<std::uint8_t> seen;
  for (const Parcel& parcel : all) {
    seen.insert(parcel.dscp);
    const auto header = wire::read_short_header(parcel.bytes);
    if (!is_short(parcel.bytes)) {
      EXPECT_EQ(parcel.dscp, 11);
    } else {
      ASSERT_TRUE(header.has_value());
      EXPECT_EQ(parcel.dscp, 11 + (header->space - 1) % 4);
      if (header->type != wire::PacketType::control) {
        EXPECT_NE(parcel.dscp, 11);
      }
    }
  }
  EXPECT_EQ(seen, (std::set<std::uint8_t>{11, 12, 13, 14}));
}

TEST_F(MarkingTest, packets_of_a_connection_are_ecn_capable_and_the_handshake_is_not) {
  for (const Parcel& parcel : all)
    EXPECT_EQ(parcel.ecn, is_short(parcel.bytes) ? base::Ecn::ect0 : base::Ecn::not_ect);
}

TEST_F(MarkingTest, reserved_bits_take_every_value_so_that_nobody_learns_to_rely_on_one) {
  std::map<std::uint8_t, int> seen;
  for (const Parcel& parcel : all)
    if (const auto header = wire::read_short_header(parcel.bytes); header && is_short(parcel.bytes))
      ++seen[header->reserved];
  ASSERT_EQ(seen.size(), 4u);
  for (const auto& [bits, count] : seen) EXPECT_GT(count, 50) << int{bits};
}

TEST_F(MarkingTest, no_number_of_a_space_is_used_twice) {
  std::set<std::tuple<SocketAddress, std::uint16_t, std::uint32_t>> seen;
  for (const Parcel& parcel : all) {
    const auto header = wire::read_short_header(parcel.bytes);
    if (!header || !is_short(parcel.bytes)) continue;
    ASSERT_TRUE(seen.insert({parcel.from, header->space, header->packet_number}).second);
  }
}

TEST(ecn, a_mark_on_the_way_reaches_the_senders_controller) {
  Network network;
  Host& client = network.add(1);
  Host& server = network.add(2);
  network.connect(client, server);
  std::vector<wire::Gap> gaps;
  std::uint64_t told = 0;
  std::uint64_t marked = 0;
  network.on_leave = [&](Parcel& parcel) {
    const auto header = wire::read_short_header(parcel.bytes);
    if (header && header->type == wire::PacketType::source && ++marked % 2 == 0)
      parcel.ecn = base::Ecn::ce;
    if (parcel.from != server.address || header->type != wire::PacketType::control) return true;
    wire::FrameReader reader(std::span(parcel.bytes).subspan(15), gaps);
    while (const auto frame = reader.next())
      if (const auto* ack = std::get_if<wire::Ack>(&*frame); ack != nullptr && ack->space == 3)
        told = std::max(told, ack->ce);
    return true;
  };
  network.transfer(client, server, 1, 100'000);
  network.run(seconds(1));
  EXPECT_EQ(client.status(1), Status::completed);
  EXPECT_GE(told, 35u);
  EXPECT_EQ(told, marked / 2);
}

}  // namespace
}  // namespace longhaul::endpoint
