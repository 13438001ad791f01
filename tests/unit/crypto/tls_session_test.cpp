// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/tls_session.hpp"

#include <gtest/gtest.h>

#include "lib/crypto/keyed_hash.hpp"
#include "lib/crypto/tls_credentials.hpp"
#include "tests/unit/crypto/tls_pair.hpp"

namespace longhaul::crypto {
namespace {

using test::Bytes;
using test::failure_of;
using test::hex;
using test::TlsPair;

bool same(const Secret& a, const Secret& b) {
  return equal_in_constant_time(a.bytes(), b.bytes());
}

void expect_matching_secrets(const TlsPair& pair) {
  const TrafficSecrets client = pair.client.secrets();
  const TrafficSecrets server = pair.server.secrets();
  EXPECT_EQ(client.cipher, server.cipher);
  EXPECT_TRUE(same(client.send, server.receive));
  EXPECT_TRUE(same(client.receive, server.send));
  EXPECT_FALSE(same(client.send, client.receive));
  EXPECT_FALSE(same(client.send, Secret()));
}

bool equal(std::span<const std::byte> a, const Bytes& b) {
  return std::ranges::equal(a, b);
}

/// Certificates of one authority for both ends, each made out to its name.
struct Pki {
  tests::Authority authority;
  tests::Certified client = authority.issue({.name = "client.example"});
  tests::Certified server = authority.issue({.name = "server.example"});
};

TEST(TlsSession, shakes_hands_with_a_pre_shared_key) {
  const auto key = test::psk("node-a");
  TlsPair pair(*key);
  pair.run();
  ASSERT_TRUE(pair.both_finished()) << failure_of(pair.client) << failure_of(pair.server);
  expect_matching_secrets(pair);
  EXPECT_TRUE(equal(pair.server.peer_parameters(), hex("c1c2c3")));
  EXPECT_TRUE(equal(pair.client.peer_parameters(), hex("5e5f")));
  EXPECT_EQ(pair.client.peer_identity(), "psk node-a");
  EXPECT_EQ(pair.server.peer_identity(), "psk node-a");
  EXPECT_FALSE(pair.client.resumed());
  EXPECT_EQ(pair.flights, 3u) << "one round trip, and no ticket";
  EXPECT_LT(pair.bytes, 600u);
}

TEST(TlsSession, shakes_hands_with_certificates) {
  const Pki pki;
  const auto client = test::certificates(
      test::keys_of(pki.client, pki.authority.certificate_pem(), "server.example"));
  const auto server = test::certificates(
      test::keys_of(pki.server, pki.authority.certificate_pem(), "client.example"));
  TlsPair pair(*client, *server);
  pair.run();
  ASSERT_TRUE(pair.both_finished()) << failure_of(pair.client) << failure_of(pair.server);
  expect_matching_secrets(pair);
  EXPECT_TRUE(pair.client.peer_identity().starts_with("certificate CN=server.example sha256:"));
  EXPECT_TRUE(pair.server.peer_identity().starts_with("certificate CN=client.example sha256:"));
}

TEST(TlsSession, refuses_another_key) {
  const auto client = test::psk("node-a", 7);
  const auto server = test::psk("node-a", 8);
  TlsPair pair(*client, *server);
  pair.run();
  EXPECT_FALSE(pair.client.finished());
  EXPECT_FALSE(pair.server.finished());
  EXPECT_EQ(failure_of(pair.server),
            "the peer holds another key under the name node-a; give both ends the same key file");
  EXPECT_EQ(failure_of(pair.client), failure_of(pair.server));
}

}  // namespace
}  // namespace longhaul::crypto
