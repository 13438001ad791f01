// SPDX-License-Identifier: Apache-2.0
// Transfers over a line that loses, delays, doubles and damages datagrams.
#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "tests/unit/connection/network.hpp"
#include "tests/unit/connection/packets.hpp"

namespace longhaul::endpoint {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct LossTest : testing::Test {
  Network network;
  Host& client = network.add(1);
  Host& server = network.add(2);

  bool done(TransferId last) {
    return client.transfers.size() == last && server.transfers.size() == last;
  }
};

TEST_F(LossTest, the_last_packet_of_a_transfer_is_repaired_within_two_round_trips) {
  network.connect(client, server);
  network.run(milliseconds(100));
  std::uint32_t last = 0;
  network.on_leave = [&](Parcel& parcel) {
    const auto header = wire::read_short_header(parcel.bytes);
    const bool first_digest = header && header->type == wire::PacketType::digest && last++ == 0;
    return !first_digest;
  };
  network.transfer(client, server, 1, 50'000);
  const Timestamp begin = network.now;
  network.run(seconds(1), [&] { return client.status(1) != Status::pending; });
  EXPECT_EQ(client.status(1), Status::completed);
  // A round trip for the receive to be advertised, 4 ms of packets, one round trip, one more for
  // the repair, and a few reordering windows.
  EXPECT_LT(network.now - begin, milliseconds(40));
}

TEST_F(LossTest, a_line_without_loss_sends_nothing_twice) {
  network.connect(client, server);
  network.run(milliseconds(500));
  network.transfer(client, server, 1, 3'000'000);
  network.run(seconds(2));
  const auto stats = *client.endpoint.connection_stats(client.opened);
  EXPECT_EQ(client.status(1), Status::completed);
  EXPECT_EQ(stats.retransmitted_bytes, 0u);
  EXPECT_EQ(stats.packets_lost, 0u);
  EXPECT_EQ(stats.tensor_bytes_sent, 3'000'000u);
  EXPECT_EQ(stats.bytes_in_flight, 0u);
}

TEST_F(LossTest, everything_arrives_whatever_happens_on_the_way) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    Network line;
    Host& from = line.add(1);
    Host& to = line.add(2);
    base::Random random(seed);
    const double loss = 0.05 * static_cast<double>(random.below(7));
    const std::uint64_t spread = random.below(3) * 400 + 1;
    line.jitter = [&] { return microseconds(random.below(spread)); };
    line.on_leave = [&](Parcel& parcel) {
      if (random.below(20) == 0) line.inject(parcel.from, parcel.to, parcel.bytes);
      if (random.below(30) == 0) {
        parcel.bytes[random.below(parcel.bytes.size())] ^= std::byte{0x20};
      }
      return !random.chance(loss);
    };
    line.connect(from, to, seconds(20));
    const std::uint64_t transfers = 1 + random.below(12);
    for (TransferId id = 1; id <= transfers; ++id) {
      const auto c = static_cast<TrafficClass>(1 + random.below(3));
      const bool forth = random.below(2) == 0;
      line.transfer(forth ? from : to, forth ? to : from, id, random.below(150'000),
                    {.traffic_class = c});
    }
    line.run(seconds(30), [&] {
      return from.transfers.size() == transfers && to.transfers.size() == transfers;
    });
    for (TransferId id = 1; id <= transfers; ++id) {
      ASSERT_EQ(from.status(id), Status::completed) << "seed " << seed << " transfer " << id;
      ASSERT_EQ(to.status(id), Status::completed) << "seed " << seed << " transfer " << id;
      ASSERT_TRUE(line.arrived_whole(id)) << "seed " << seed << " transfer " << id;
    }
    line.run(seconds(2));
    for (Host* host : {&from, &to}) {
      const auto stats = *host->endpoint.connection_stats(host->opened);
      EXPECT_EQ(stats.bytes_in_flight, 0u) << "seed " << seed;
    }
  }
}

TEST_F(LossTest, equal_seeds_give_equal_traces) {
  const auto trace = [](std::uint64_t seed) {
    Network line;
    Host& from = line.add(1);
    Host& to = line.add(2);
    base::Random random(seed);
    std::vector<std::pair<Timestamp, std::vector<std::byte>>> seen;
    line.on_leave = [&](Parcel& parcel) {
      seen.emplace_back(line.now, parcel.bytes);
      return random.below(10) != 0;
    };
    line.connect(from, to, seconds(20));
    for (TransferId id = 1; id <= 20; ++id) line.transfer(from, to, id, 5000 * id);
    line.run(seconds(3));
    return seen;
  };
  const auto first = trace(3);
  EXPECT_GT(first.size(), 500u);
  EXPECT_EQ(first, trace(3));
  EXPECT_NE(first, trace(4));
}

TEST_F(LossTest, deadlines_and_cancellations_end_both_ends_over_a_bad_line) {
  network.connect(client, server);
  base::Random random(5);
  network.on_leave = [&](Parcel&) { return !random.chance(0.3); };
  for (TransferId id = 1; id <= 40; ++id) {
    SendOptions options;
    if (id % 4 == 1) options.deadline = milliseconds(random.below(200));
    ReceiveOptions wanted;
    if (id % 4 == 2) wanted.deadline = milliseconds(random.below(200));
    network.transfer(client, server, id, 200'000, options, wanted);
    network.run(milliseconds(5));
    if (id % 4 == 3) client.endpoint.cancel(network.now, client.opened, id);
    if (id % 8 == 4) server.endpoint.cancel(network.now, server.opened, id);
  }
  network.run(seconds(20), [&] { return done(40); });
  ASSERT_TRUE(done(40));
  for (TransferId id = 1; id <= 40; ++id) {
    if (client.status(id) == Status::completed) {
      EXPECT_EQ(server.status(id), Status::completed);
      EXPECT_TRUE(network.arrived_whole(id));
    } else if (server.status(id) != Status::completed) {
      EXPECT_EQ(client.status(id), server.status(id)) << id;
    }
  }
}

TEST_F(LossTest, a_growing_source_is_relayed_as_it_grows) {
  network.connect(client, server);
  base::Random random(6);
  network.on_leave = [&](Parcel&) { return !random.chance(0.05); };
  network.transfer(client, server, 1, 1'000'000, {.growing = true});
  network.run(milliseconds(100));
  EXPECT_EQ(client.endpoint.connection_stats(client.opened)->tensor_bytes_sent, 0u);
  for (std::uint64_t ready = 0; ready <= 1'000'000; ready += 50'000) {
    client.endpoint.ready(network.now, client.opened, 1, ready);
    network.run(milliseconds(10));
    EXPECT_LE(client.endpoint.connection_stats(client.opened)->tensor_bytes_sent, ready);
  }
  network.run(seconds(2), [&] { return done(1); });
  EXPECT_EQ(server.status(1), Status::completed);
  EXPECT_TRUE(network.arrived_whole(1));
}

}  // namespace
}  // namespace longhaul::endpoint
