// SPDX-License-Identifier: Apache-2.0
// Connections with keys: set-up over bad lines, who is refused and how, keys that are renewed.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "lib/base/random.hpp"
#include "lib/wire/packet.hpp"
#include "tests/unit/connection/secure_hosts.hpp"

namespace longhaul::endpoint {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool is_long(const Parcel& parcel) {
  return wire::is_long(parcel.bytes[0]);
}

// Every kind of credentials, as both ends of a pair.
struct Pair {
  const char* name;
  std::shared_ptr<crypto::Credentials> client;
  std::shared_ptr<crypto::Credentials> server;
};
std::vector<Pair> pairs() {
  static const tests::Authority root;
  static const tests::Authority middle = root.intermediate("middle");
  static const tests::Certified a = middle.issue({.name = "a"});
  static const tests::Certified b = middle.issue({.name = "b", .key = tests::KeyType::rsa2048});
  return {{"psk", psk(), psk()},
          {"chains", certificates(a, root.certificate_pem(), "b"),
           certificates(b, root.certificate_pem(), "a")}};
}

// Connects and moves tensors in both directions.
void expect_works(Network& network, Host& client, Host& server, std::string_view what,
                  Duration limit = seconds(20)) {
  network.connect(client, server, limit);
  ASSERT_NE(client.opened, 0u) << what;
  network.transfer(client, server, 1, 200'000);
  network.transfer(server, client, 2, 100'000);
  network.run(limit, [&] {
    return client.status(2) != Status::pending && server.status(1) != Status::pending &&
           client.status(1) != Status::pending && server.status(2) != Status::pending;
  });
  EXPECT_EQ(server.status(1), Status::completed) << what;
  EXPECT_EQ(client.status(2), Status::completed) << what;
  EXPECT_TRUE(network.arrived_whole(1)) << what;
  EXPECT_TRUE(network.arrived_whole(2)) << what;
}

void expect_refused(Network& network, Host& client, Host& server, ErrorCode code,
                    std::string_view words) {
  server.endpoint.listen();
  const Timestamp begin = network.now;
  client.endpoint.connect(network.now, {1, server.address, seconds(10)});
  network.run(seconds(11), [&] { return !client.connections.empty(); });
  ASSERT_EQ(client.connections.size(), 1u);
  const ConnectionEvent& event = client.connections[0];
  EXPECT_EQ(event.status, Status::refused);
  EXPECT_EQ(event.error, code) << event.reason;
  EXPECT_NE(event.reason.find(words), std::string::npos) << event.reason;
  EXPECT_LT(network.now - begin, seconds(3)) << "a clear answer takes no timeout";
  network.run(seconds(15));
  for (const ConnectionEvent& told : server.connections) {
    EXPECT_EQ(told.kind, ConnectionEvent::Kind::refused) << "a stranger is no connection";
    EXPECT_EQ(told.error, ErrorCode::not_authenticated);
    EXPECT_FALSE(told.reason.empty());
  }
  EXPECT_EQ(server.endpoint.stats().connections, 0u) << "and nothing is kept";
}

TEST(Secure, transfers_arrive_and_each_knows_the_other) {
  for (const Pair& pair : pairs()) {
    Network network;
    Host& client = add_secure(network, 1, pair.client);
    Host& server = add_secure(network, 2, pair.server);
    expect_works(network, client, server, pair.name);
    const auto seen = client.endpoint.connection_stats(client.opened);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->cipher.empty(), false);
    const bool with_key = pair.name == std::string_view("psk");
    EXPECT_EQ(seen->peer_identity.find(with_key ? "psk test" : "certificate"), 0u)
        << seen->peer_identity;
    EXPECT_FALSE(server.endpoint.connection_stats(server.opened)->peer_identity.empty());
  }
}

TEST(Secure, no_packet_shows_a_byte_of_a_tensor_and_headers_keep_to_their_budget) {
  Network network;
  Host& client = add_secure(network, 1, psk());
  Host& server = add_secure(network, 2, psk());
  std::vector<std::byte> seen;
  std::size_t longest = 0;
  network.on_leave = [&](Parcel& parcel) {
    if (is_long(parcel)) return true;
    const auto header = wire::read_short_header(parcel.bytes);
    if (header && header->type == wire::PacketType::source)
      longest = std::max(longest, parcel.bytes.size());
    seen.insert(seen.end(), parcel.bytes.begin(), parcel.bytes.end());
    return true;
  };
  expect_works(network, client, server, "psk");
  // 1500 bytes less IP and UDP; a chunk is what 34 bytes leave of it.
  EXPECT_EQ(longest, 1472u);
  EXPECT_EQ(wire::kSourceHeaderBytes + wire::kAeadTagBytes, 34u);
  const auto tensor = network.target(1);
  for (std::size_t at = 0; at + 16 <= tensor.size(); at += 1000) {
    const auto part = tensor.subspan(at, 16);
    EXPECT_EQ(std::search(seen.begin(), seen.end(), part.begin(), part.end()), seen.end()) << at;
  }
}

TEST(Secure, set_up_survives_any_lost_packet_and_a_line_that_loses_a_third) {
  for (const Pair& pair : pairs()) {
    for (int victim = 0; victim < 12; ++victim) {
      Network network;
      Host& client = add_secure(network, 1, pair.client);
      Host& server = add_secure(network, 2, pair.server);
      int count = 0;
      network.on_leave = [&](Parcel&) { return count++ != victim; };
      expect_works(network, client, server, pair.name);
      ASSERT_FALSE(testing::Test::HasFailure()) << "without packet " << victim;
    }
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Network network;
      Host& client = add_secure(network, 1, pair.client);
      Host& server = add_secure(network, 2, pair.server);
      base::Random random(seed);
      network.on_leave = [&](Parcel&) { return random.below(10) >= 3; };
      network.jitter = [&] { return milliseconds(random.below(20)); };
      expect_works(network, client, server, pair.name);
      ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    }
  }
}

TEST(Secure, set_up_needs_no_packet_larger_than_1280_bytes) {
  for (const Pair& pair : pairs()) {
    Network network;
    Host& client = add_secure(network, 1, pair.client);
    Host& server = add_secure(network, 2, pair.server);
    network.on_leave = [](Parcel& parcel) { return parcel.bytes.size() + 28 <= 1280; };
    expect_works(network, client, server, pair.name);
  }
}

TEST(Secure, every_packet_may_come_twice) {
  for (const Pair& pair : pairs()) {
    Network network;
    Host& client = add_secure(network, 1, pair.client);
    Host& server = add_secure(network, 2, pair.server);
    network.on_leave = [&](Parcel& parcel) {
      network.inject(parcel.from, parcel.to, parcel.bytes);
      return true;
    };
    expect_works(network, client, server, pair.name);
    EXPECT_EQ(server.endpoint.stats().connections, 1u);
  }
}

TEST(Secure, who_holds_another_key_is_told_so) {
  Network network;
  Host& client = add_secure(network, 1, psk(7));
  Host& server = add_secure(network, 2, psk(8));
  expect_refused(network, client, server, ErrorCode::not_authenticated, "key");
}

TEST(Secure, a_certificate_of_another_authority_is_refused_by_either_end) {
  const tests::Authority ours;
  const tests::Authority theirs("another CA");
  const auto good = ours.issue({.name = "good"});
  const auto bad = theirs.issue({.name = "bad"});
  {
    Network network;
    Host& client = add_secure(network, 1, certificates(good, ours.certificate_pem()));
    Host& server = add_secure(network, 2, certificates(bad, ours.certificate_pem()));
    expect_refused(network, client, server, ErrorCode::not_authenticated, "");
  }
  {
    Network network;
    Host& client = add_secure(network, 1, certificates(bad, ours.certificate_pem()));
    Host& server = add_secure(network, 2, certificates(good, ours.certificate_pem()));
    expect_refused(network, client, server, ErrorCode::not_authenticated, "");
  }
}

TEST(Secure, an_end_that_asks_for_security_talks_to_no_other) {
  {
    Network network;
    Host& client = add_secure(network, 1, psk());
    Host& server = network.add(2);
    expect_refused(network, client, server, ErrorCode::refused, "security none");
  }
  {
    Network network;
    Host& client = network.add(1);
    Host& server = add_secure(network, 2, psk());
    expect_refused(network, client, server, ErrorCode::refused, "asks for a key");
  }
}

TEST(Secure, keys_are_renewed_in_both_directions_in_mid_transfer) {
  Network network;
  const crypto::AeadLimits limits{.packets_per_key = 100};
  Host& client = add_secure(network, 1, psk(), Network::config(), limits);
  Host& server = add_secure(network, 2, psk(), Network::config(), limits);
  base::Random random(5);
  network.on_leave = [&](Parcel& parcel) { return is_long(parcel) || random.below(100) != 0; };
  network.jitter = [&] { return milliseconds(random.below(3)); };
  network.connect(client, server);
  network.transfer(client, server, 1, 8'000'000);
  network.transfer(server, client, 2, 8'000'000);
  network.run(seconds(20), [&] {
    return client.status(2) != Status::pending && server.status(1) != Status::pending;
  });
  EXPECT_EQ(server.status(1), Status::completed);
  EXPECT_EQ(client.status(2), Status::completed);
  EXPECT_TRUE(network.arrived_whole(1));
  EXPECT_TRUE(network.arrived_whole(2));
  EXPECT_GT(client.endpoint.connection_stats(client.opened)->key_updates, 20u);
  EXPECT_GT(server.endpoint.connection_stats(server.opened)->key_updates, 20u);
}

// 2^20 packets in both directions at once, on a line that loses and jitters, with keys for 1000.
TEST(Secure, keys_go_on_for_a_million_packets_in_both_directions) {
  constexpr std::uint64_t kPackets = std::uint64_t{1} << 20;
  constexpr std::uint64_t kPacketsPerKey = 1000;
  constexpr std::size_t kBytes = 32 << 20;
  EndpointConfig config = Network::config();
  config.rate_bps = 400'000'000;
  config.mtu_max = 1280;
  Network network;
  const crypto::AeadLimits limits{.packets_per_key = kPacketsPerKey};
  std::array hosts{&add_secure(network, 1, psk(), config, limits),
                   &add_secure(network, 2, psk(), config, limits)};
  base::Random random(9);
  network.connect(*hosts[0], *hosts[1]);
  network.on_leave = [&](Parcel&) { return random.below(1000) != 0; };
  network.jitter = [&] { return std::chrono::microseconds(random.below(50)); };
  const auto packets_of = [](Host& host) {
    return host.endpoint.connection_stats(host.opened)->packets_sent;
  };
  std::array<std::vector<std::byte>, 2> sources;
  std::array<std::vector<std::byte>, 2> targets;
  for (std::size_t i = 0; i < 2; ++i) {
    sources[i].resize(kBytes);
    for (std::size_t at = 0; at < kBytes; at += 8) sources[i][at] = std::byte(random.next());
  }
  for (TransferId round = 1; packets_of(*hosts[0]) + packets_of(*hosts[1]) < kPackets; ++round) {
    for (std::size_t i = 0; i < 2; ++i) {
      Host& from = *hosts[i];
      Host& to = *hosts[1 - i];
      targets[i].assign(kBytes, std::byte{1});
      to.endpoint.receive(
          network.now,
          {to.opened, 2 * round + i, round, {{targets[i], Dtype::u8, Shape{kBytes}}}, {}});
      from.endpoint.send(
          network.now,
          {from.opened, 2 * round + i, round, {{sources[i], Dtype::u8, Shape{kBytes}}}, {}});
    }
    network.run(seconds(20), [&] {
      return std::ranges::all_of(hosts, [&](Host* host) {
        return host->status(2 * round) != Status::pending &&
               host->status(2 * round + 1) != Status::pending;
      });
    });
    for (std::size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(hosts[1 - i]->status(2 * round + i), Status::completed) << "round " << round;
      ASSERT_EQ(sources[i], targets[i]) << "round " << round;
    }
  }
  for (Host* host : hosts) {
    EXPECT_EQ(host->connections.size(), 1u);
    // Each direction renews its own; up to a round trip's packets go on with the old one.
    EXPECT_GT(host->endpoint.connection_stats(host->opened)->key_updates,
              kPackets / (2 * kPacketsPerKey));
  }
}

TEST(Secure, a_key_that_cannot_be_renewed_is_not_used_for_ever) {
  EndpointConfig config = Network::config();
  config.peer_timeout = seconds(60);
  Network network;
  const crypto::AeadLimits limits{.packets_per_key = 50};
  Host& client = add_secure(network, 1, psk(), config, limits);
  Host& server = add_secure(network, 2, psk(), config, limits);
  network.connect(client, server);
  std::uint64_t sent = 0;
  network.on_leave = [&](Parcel& parcel) {
    sent += parcel.from == client.address;
    return parcel.from == client.address;  // no ACK arrives
  };
  network.transfer(client, server, 1, 8'000'000);
  network.run(seconds(50), [&] { return client.status(1) != Status::pending; });
  EXPECT_EQ(client.status(1), Status::internal);
  EXPECT_LE(sent, 200u);
}

TEST(Secure, one_address_gets_so_many_handshakes_at_a_time) {
  EndpointConfig config = Network::config();
  config.handshakes_max_per_source = 5;
  Network network;
  Host& server = add_secure(network, 2, psk(), config);
  Host& client = add_secure(network, 1, psk());
  Host& other = add_secure(network, 3, psk());
  server.endpoint.listen();
  // What the client says after its ClientHello is lost.
  std::set<std::uint64_t> answered;
  network.on_leave = [&](Parcel& parcel) {
    if (parcel.from == server.address && parcel.to == client.address) {
      const auto peek = wire::peek_long(parcel.bytes);
      if (peek && peek->type == wire::LongType::accept) {
        answered.insert(peek->attempt);
        return false;
      }
    }
    return true;
  };
  for (ConnectionId id = 1; id <= 20; ++id)
    client.endpoint.connect(network.now, {id, server.address, seconds(5)});
  network.run(seconds(3));
  EXPECT_EQ(answered.size(), 5u);
  EXPECT_EQ(server.endpoint.stats().connections, 5u);
  network.connect(other, server);
  EXPECT_NE(other.opened, 0u) << "others are let in";
  network.run(seconds(20));
  EXPECT_EQ(server.endpoint.stats().connections, 1u) << "what was not finished is forgotten";
}

}  // namespace
}  // namespace longhaul::endpoint
