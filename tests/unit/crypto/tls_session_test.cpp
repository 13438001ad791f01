// SPDX-License-Identifier: Apache-2.0
// Handshakes that succeed.
#include "lib/crypto/tls_session.hpp"

#include <gtest/gtest.h>

#include "lib/crypto/keyed_hash.hpp"
#include "lib/crypto/tls_credentials.hpp"
#include "tests/unit/crypto/tls_pair.hpp"

namespace longhaul::crypto {
namespace {

using test::Bytes;
using test::expect_matching_secrets;
using test::failure_of;
using test::hex;
using test::Pki;
using test::same;
using test::TlsPair;

bool equal(std::span<const std::byte> a, const Bytes& b) {
  return std::ranges::equal(a, b);
}

TEST(TlsSession, shakes_hands_with_a_pre_shared_key) {
  const auto key = test::psk("node-a");
  TlsPair pair(*key);
  pair.run();
  ASSERT_TRUE(pair.both_finished()) << pair.failures();
  expect_matching_secrets(pair);
  EXPECT_TRUE(equal(pair.server.peer_parameters(), hex("c1c2c3")));
  EXPECT_TRUE(equal(pair.client.peer_parameters(), hex("5e5f")));
  EXPECT_EQ(pair.client.peer_identity(), "psk node-a");
  EXPECT_EQ(pair.server.peer_identity(), "psk node-a");
  EXPECT_EQ(pair.flights, 3u) << "one round trip, and no ticket";
  EXPECT_LT(pair.bytes, 600u);
}

TEST(TlsSession, shakes_hands_with_certificates) {
  const Pki pki;
  const auto client = test::certificates(pki.client_keys());
  const auto server = test::certificates(pki.server_keys());
  TlsPair pair(*client, *server);
  pair.run();
  ASSERT_TRUE(pair.both_finished()) << pair.failures();
  expect_matching_secrets(pair);
  EXPECT_TRUE(equal(pair.server.peer_parameters(), hex("c1c2c3")));
  EXPECT_TRUE(equal(pair.client.peer_parameters(), hex("5e5f")));
  EXPECT_TRUE(pair.client.peer_identity().starts_with("certificate CN=server.example sha256:"));
  EXPECT_TRUE(pair.server.peer_identity().starts_with("certificate CN=client.example sha256:"));
}

TEST(TlsSession, takes_every_usual_kind_of_key) {
  const tests::Authority authority;
  for (const tests::KeyType type :
       {tests::KeyType::p256, tests::KeyType::ed25519, tests::KeyType::rsa2048}) {
    const auto both = test::certificates(
        test::keys_of(authority.issue({.key = type}), authority.certificate_pem()));
    TlsPair pair(*both);
    pair.run();
    EXPECT_TRUE(pair.both_finished()) << pair.failures();
  }
}

TEST(TlsSession, takes_its_stream_byte_by_byte) {
  const Pki pki;
  const auto key = test::psk("node-a");
  const auto client = test::certificates(pki.client_keys());
  const auto server = test::certificates(pki.server_keys());
  TlsPair with_key(*key);
  with_key.run(1);
  EXPECT_TRUE(with_key.both_finished()) << with_key.failures();
  TlsPair with_certificates(*client, *server);
  with_certificates.run(1);
  EXPECT_TRUE(with_certificates.both_finished()) << with_certificates.failures();
}

TEST(TlsSession, shows_nothing_of_a_peer_that_has_not_proven_itself) {
  const auto key = test::psk("node-a");
  TlsPair pair(*key);
  pair.client.receive({});
  pair.carry(pair.client, pair.server);
  EXPECT_FALSE(pair.server.finished());
  EXPECT_TRUE(pair.server.peer_parameters().empty());
  EXPECT_EQ(pair.server.peer_identity(), "");
  EXPECT_TRUE(same(pair.server.secrets().send, Secret()));
  pair.carry(pair.server, pair.client);
  EXPECT_TRUE(pair.client.finished());
  EXPECT_FALSE(pair.client.peer_parameters().empty());
}

TEST(TlsSession, carries_large_and_empty_parameters) {
  const auto key = test::psk("node-a");
  const Bytes large(10'000, std::byte{3});
  TlsSession client(*key, TlsRole::client, {}, "server");
  TlsSession server(*key, TlsRole::server, large, "");
  client.receive({});
  for (int i = 0; i < 2; ++i) {
    test::move_output(client, server);
    test::move_output(server, client);
  }
  ASSERT_TRUE(client.finished() && server.finished());
  EXPECT_TRUE(equal(client.peer_parameters(), large));
  EXPECT_TRUE(server.peer_parameters().empty());
}

TEST(TlsSession, sends_a_chain_through_an_intermediate_authority) {
  const tests::Authority root("root");
  const tests::Authority middle = root.intermediate("middle");
  const tests::Authority low = middle.intermediate("low");
  const auto server = test::certificates(test::keys_of(low.issue({}), root.certificate_pem()));
  const auto client = test::certificates(test::keys_of(root.issue({}), root.certificate_pem()));
  TlsPair pair(*client, *server);
  pair.run();
  EXPECT_TRUE(pair.both_finished()) << pair.failures();
}

TEST(TlsSession, trusts_an_intermediate_authority_by_itself) {
  const tests::Authority middle = tests::Authority("root").intermediate("middle");
  const auto both = test::certificates(test::keys_of(middle.issue({}), middle.certificate_pem()));
  TlsPair pair(*both);
  pair.run();
  EXPECT_TRUE(pair.both_finished()) << pair.failures();
}

TEST(TlsSession, finds_the_name_of_the_peer) {
  const tests::Authority authority;
  const auto finishes = [&](const tests::CertificateOptions& options, const std::string& wanted) {
    const auto both = test::certificates(
        test::keys_of(authority.issue(options), authority.certificate_pem(), wanted));
    TlsPair pair(*both);
    pair.run();
    return pair.both_finished();
  };
  EXPECT_TRUE(finishes({.name = "a.example"}, "a.example"));
  EXPECT_TRUE(finishes({.name = "a.example"}, "A.Example"));
  EXPECT_TRUE(finishes({.name = "a.example", .listed = false}, "a.example")) << "common name";
  EXPECT_TRUE(finishes({.name = "*.net.example"}, "a.net.example"));
  EXPECT_TRUE(finishes({.name = "192.0.2.7"}, "192.0.2.7"));
  EXPECT_TRUE(finishes({.name = "2001:db8::7"}, "2001:db8:0::7"));
  EXPECT_TRUE(finishes({.name = "a.example"}, "")) << "any name of this CA";
  EXPECT_FALSE(finishes({.name = "a.example"}, "b.example"));
  EXPECT_FALSE(finishes({.name = "a*.net.example"}, "ab.net.example")) << "a partial wildcard";
  EXPECT_FALSE(finishes({.name = "*.net.example"}, "a.b.net.example"));
  EXPECT_FALSE(finishes({.name = "192.0.2.7"}, "192.0.2.70"));
}

TEST(TlsSession, believes_pinned_certificates_without_a_ca) {
  const tests::Certified client = tests::self_signed({.name = "client"});
  // Whoever pins a certificate means this one, whatever its dates and names are.
  const tests::Certified server = tests::self_signed({.name = "server",
                                                      .valid_from = std::chrono::hours(-48),
                                                      .valid_until = std::chrono::hours(-24)});
  CertificateKeys of_client = test::keys_of(client, "", "some.other.name");
  of_client.peer_fingerprints = {test::fingerprint(client), test::fingerprint(server)};
  CertificateKeys of_server = test::keys_of(server, "");
  of_server.peer_fingerprints = {test::fingerprint(client)};
  const auto client_side = test::certificates(of_client);
  const auto server_side = test::certificates(of_server);
  TlsPair pair(*client_side, *server_side);
  pair.run();
  ASSERT_TRUE(pair.both_finished()) << pair.failures();
  EXPECT_EQ(pair.client.peer_identity(),
            "certificate CN=server sha256:" + to_string(test::fingerprint(server)));
}

TEST(TlsSession, follows_the_end_that_prefers_chacha) {
  for (const bool client_has_aes : {false, true}) {
    for (const bool server_has_aes : {false, true}) {
      const auto client = test::psk("node-a");
      const auto server = test::psk("node-a");
      const auto prefer = [](Credentials& credentials, bool aes) {
        static_cast<TlsCredentials&>(credentials)
            .prefer(aes ? PacketCipher::aes_128_gcm : PacketCipher::chacha20_poly1305);
      };
      prefer(*client, client_has_aes);
      prefer(*server, server_has_aes);
      TlsPair pair(*client, *server);
      pair.run();
      ASSERT_TRUE(pair.both_finished()) << pair.failures();
      expect_matching_secrets(pair);
      EXPECT_EQ(pair.client.secrets().cipher, client_has_aes && server_has_aes
                                                  ? PacketCipher::aes_128_gcm
                                                  : PacketCipher::chacha20_poly1305);
    }
  }
}

TEST(TlsSession, begins_again_with_the_group_the_server_wants) {
  const Pki pki;
  for (const bool with_key : {true, false}) {
    const auto client = with_key ? test::psk("node-a") : test::certificates(pki.client_keys());
    const auto server = with_key ? test::psk("node-a") : test::certificates(pki.server_keys());
    SSL_CTX* const context = static_cast<TlsCredentials&>(*server).context(TlsRole::server);
    ASSERT_EQ(SSL_CTX_set1_groups_list(context, "P-256"), 1);
    TlsPair pair(*client, *server);
    pair.run();
    ASSERT_TRUE(pair.both_finished()) << pair.failures();
    expect_matching_secrets(pair);
    EXPECT_TRUE(equal(pair.server.peer_parameters(), hex("c1c2c3")));
  }
}

TEST(TlsSession, makes_other_secrets_each_time) {
  const auto key = test::psk("node-a");
  TlsPair one(*key);
  TlsPair other(*key);
  one.run();
  other.run();
  EXPECT_FALSE(same(one.client.secrets().send, other.client.secrets().send));
}

TEST(TlsSession, survives_what_comes_behind_the_handshake) {
  const auto key = test::psk("node-a");
  for (int variant = 0; variant < 4; ++variant) {
    TlsPair pair(*key);
    pair.run();
    const Secret before = pair.client.secrets().send;
    base::Random random(static_cast<std::uint64_t>(variant));
    for (int i = 0; i < 300; ++i) {
      Bytes garbage = wire::test::random_bytes(random, 1000);
      // With a record header before it the garbage gets as far as decryption.
      if (variant == 1) std::ranges::copy(hex("17030303e3"), garbage.begin());
      if (variant == 2) std::ranges::copy(hex("15030300020228"), garbage.begin());
      if (variant == 3) std::ranges::copy(hex("140303000101"), garbage.begin());
      pair.client.receive(garbage);
      pair.server.receive(garbage);
    }
    EXPECT_TRUE(pair.both_finished()) << pair.failures();
    EXPECT_TRUE(same(pair.client.secrets().send, before));
  }
}

}  // namespace
}  // namespace longhaul::crypto
