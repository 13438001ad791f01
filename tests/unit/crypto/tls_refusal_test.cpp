// SPDX-License-Identifier: Apache-2.0
// Handshakes that must fail, and in which words at either end.
#include <gtest/gtest.h>

#include <functional>

#include "lib/crypto/openssl.hpp"
#include "lib/crypto/tls_session.hpp"
#include "tests/unit/crypto/tls_pair.hpp"

namespace longhaul::crypto {
namespace {

using std::chrono::hours;
using test::Bytes;
using test::failure_of;
using test::hex;
using test::Pki;
using test::TlsPair;

/// What the two ends say after a handshake with these credentials. Neither may have shown secrets
/// of a peer it refuses.
struct Words {
  std::string client;
  std::string server;
};

Words refused(Credentials& client, Credentials& server) {
  TlsPair pair(client, server);
  pair.run();
  EXPECT_FALSE(pair.both_finished());
  EXPECT_FALSE(pair.server.finished());
  EXPECT_TRUE(pair.server.peer_parameters().empty());
  Bytes left;
  pair.client.take_output(left);
  pair.server.take_output(left);
  EXPECT_TRUE(left.empty());
  return {failure_of(pair.client), failure_of(pair.server)};
}

Words refused(const CertificateKeys& client, const CertificateKeys& server) {
  return refused(*test::certificates(client), *test::certificates(server));
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(TlsRefusal, of_another_key) {
  const Words words = refused(*test::psk("node-a", 7), *test::psk("node-a", 8));
  EXPECT_EQ(words.server,
            "the peer holds another key under the name node-a; give both ends the same key file");
  EXPECT_EQ(words.client, words.server);
}

TEST(TlsRefusal, of_an_unknown_identity) {
  const Words words = refused(*test::psk("node-a"), *test::psk("node-b"));
  EXPECT_EQ(words.server,
            "the peer's key is called node-a, ours node-b; give both ends the same key file");
  EXPECT_EQ(words.client, "the peer has no key called node-a; give both ends the same key file");
}

TEST(TlsRefusal, of_a_key_where_certificates_are_used_and_the_reverse) {
  const Pki pki;
  const auto key = test::psk("node-a");
  const auto certificates = test::certificates(pki.server_keys());
  const std::string has_certificates =
      "the peer uses certificates, we hold a pre-shared key; set up both ends the same way";
  const std::string has_key =
      "the peer holds a pre-shared key, we use certificates; set up both ends the same way";
  const Words to_certificates = refused(*key, *certificates);
  EXPECT_EQ(to_certificates.client, has_certificates);
  EXPECT_EQ(to_certificates.server, has_key);
  const Words to_key = refused(*certificates, *key);
  EXPECT_EQ(to_key.client, has_key);
  EXPECT_EQ(to_key.server, has_certificates);
}

TEST(TlsRefusal, of_an_unknown_ca) {
  const Pki pki;
  const tests::Authority other("another CA");
  const tests::Certified server = other.issue({.name = "server.example"});
  Words words = refused(pki.client_keys(), test::keys_of(server, pki.authority.certificate_pem()));
  EXPECT_TRUE(words.client.starts_with(
      "no CA we trust signed the peer's certificate (CN=server.example); add its CA"));
  EXPECT_TRUE(contains(words.client, to_string(test::fingerprint(server)))) << words.client;
  EXPECT_EQ(words.server,
            "the peer refuses our certificate: it does not trust the CA that signed it; give "
            "another certificate, or have the other end believe this one; its log says what it was "
            "shown");
  // The client has finished already when it hears of it.
  words =
      refused(test::keys_of(other.issue({}), pki.authority.certificate_pem()), pki.server_keys());
  EXPECT_TRUE(words.server.starts_with("no CA we trust signed the peer's certificate"));
  EXPECT_TRUE(words.client.starts_with("the peer refuses our certificate: it does not trust"));
}

TEST(TlsRefusal, of_a_ca_that_was_made_anew_under_its_name) {
  const Pki pki;
  const Pki anew;
  const Words words =
      refused(pki.client_keys(), test::keys_of(anew.server, pki.authority.certificate_pem()));
  EXPECT_TRUE(words.client.starts_with("no CA we trust signed the peer's certificate"));
  EXPECT_TRUE(contains(words.server, "a signature in our certificate")) << words.server;
}

TEST(TlsRefusal, of_a_self_signed_certificate) {
  const Pki pki;
  const CertificateKeys own = test::keys_of(tests::self_signed({.name = "server.example"}),
                                            pki.authority.certificate_pem());
  EXPECT_TRUE(refused(pki.client_keys(), own).client.starts_with("no CA we trust signed"));
}

TEST(TlsRefusal, of_a_chain_without_its_middle) {
  const tests::Authority root;
  tests::Certified leaf = root.intermediate("middle").issue({});
  const std::string end = "-----END CERTIFICATE-----\n";
  leaf.certificate_pem.resize(leaf.certificate_pem.find(end) + end.size());
  const Words words = refused(test::keys_of(root.issue({}), root.certificate_pem()),
                              test::keys_of(leaf, root.certificate_pem()));
  EXPECT_TRUE(contains(words.client, "let the peer send its chain")) << words.client;
}

TEST(TlsRefusal, of_a_certificate_out_of_its_time) {
  const Pki pki;
  const auto words_for = [&](hours from, hours until) {
    const auto server =
        pki.authority.issue({.name = "server.example", .valid_from = from, .valid_until = until});
    return refused(pki.client_keys(), test::keys_of(server, pki.authority.certificate_pem()));
  };
  const Words expired = words_for(hours(-48), hours(-24));
  EXPECT_TRUE(expired.client.starts_with("the peer's certificate (CN=server.example) expired on "));
  EXPECT_TRUE(contains(expired.client, "; renew it, or set the clock")) << expired.client;
  EXPECT_TRUE(contains(expired.server, "it has expired")) << expired.server;
  const Words early = words_for(hours(24), hours(48));
  EXPECT_TRUE(
      early.client.starts_with("the peer's certificate (CN=server.example) is not valid before "));
}

TEST(TlsRefusal, of_another_name) {
  const Pki pki;
  CertificateKeys client = pki.client_keys();
  client.peer_name = "gateway.example";
  Words words = refused(client, pki.server_keys());
  EXPECT_EQ(words.client,
            "the peer's certificate is made out to DNS:server.example and not to gateway.example; "
            "connect to the name it has, or issue one with this name");
  EXPECT_TRUE(contains(words.server, "by its name, fingerprint or signature")) << words.server;
  // A server looks at names as well.
  CertificateKeys server = pki.server_keys();
  server.peer_name = "gateway.example";
  words = refused(pki.client_keys(), server);
  EXPECT_TRUE(contains(words.server, "client.example and not to gateway.example")) << words.server;
}

TEST(TlsRefusal, shows_names_that_want_to_forge_a_line_as_one_line) {
  const tests::Authority authority;
  const tests::Certified client = authority.issue(
      {.name = "c.example\r\nlonghaul: refused a client at 192.0.2.1:1: \x1b[31m\xc2\x9b"});
  const tests::Certified server = authority.issue({.name = "server.example"});
  const std::string ca = authority.certificate_pem();
  const Words words =
      refused(test::keys_of(client, ca), test::keys_of(server, ca, "other.example"));
  EXPECT_TRUE(
      words.server.starts_with("the peer's certificate is made out to DNS:c.example??"
                               "longhaul: refused a client at 192.0.2.1:1: "))
      << words.server;
  EXPECT_EQ(words.server.find_first_of("\r\n\x1b\x9b"), std::string::npos) << words.server;
}

TEST(TlsRefusal, shows_the_beginning_of_a_name_that_is_very_long) {
  const tests::Authority authority;
  std::string name = "c.example\n";
  while (name.size() < 10'000) name += "\nx";
  const tests::Certified client = authority.issue({.name = name});
  const tests::Certified server = authority.issue({.name = "server.example"});
  const std::string ca = authority.certificate_pem();
  const Words words =
      refused(test::keys_of(client, ca), test::keys_of(server, ca, "other.example"));
  EXPECT_LT(words.server.size(), 500u);
  EXPECT_EQ(words.server.find('\n'), std::string::npos) << words.server;
}

TEST(TlsRefusal, of_a_fingerprint_that_is_not_pinned) {
  const Pki pki;
  CertificateKeys client = pki.client_keys();
  client.peer_fingerprints = {test::fingerprint(pki.client)};
  const Words words = refused(client, pki.server_keys());
  EXPECT_EQ(words.client,
            "the peer's certificate (CN=server.example) has a fingerprint that is not pinned: "
            "sha256:" +
                to_string(test::fingerprint(pki.server)) + "; if it is the right one, pin it")
      << "though its CA is known";
}

TEST(TlsRefusal, of_a_certificate_for_another_purpose) {
  const Pki pki;
  const auto words_for = [&](const std::string& usage) {
    const auto client = pki.authority.issue({.name = "client.example", .extended_usage = usage});
    const auto certificates =
        test::certificates(test::keys_of(client, pki.authority.certificate_pem()));
    const auto of_server = test::certificates(pki.server_keys());
    TlsPair pair(*certificates, *of_server);
    pair.run();
    return failure_of(pair.server);
  };
  EXPECT_TRUE(contains(words_for("serverAuth"), "extended key usage")) << words_for("serverAuth");
  EXPECT_EQ(words_for("clientAuth"), "");
  EXPECT_EQ(words_for("serverAuth,clientAuth"), "");
}

/// A TLS client that is none of ours, in front of a server of ours.
std::string server_words(Credentials& credentials, const std::function<void(SSL&)>& prepare) {
  const SslContextPtr context(SSL_CTX_new(TLS_client_method()));
  const SslPtr ssl(SSL_new(context.get()));
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  BIO_set_mem_eof_return(in, -1);
  SSL_set_bio(ssl.get(), in, out);
  SSL_set_connect_state(ssl.get());
  prepare(*ssl);
  TlsSession server(credentials, TlsRole::server, {}, "");
  for (int i = 0; i < 5; ++i) {
    SSL_do_handshake(ssl.get());
    Bytes to_server(BIO_ctrl_pending(out));
    if (!to_server.empty()) BIO_read(out, to_server.data(), static_cast<int>(to_server.size()));
    server.receive(to_server);
    Bytes to_client;
    server.take_output(to_client);
    if (!to_client.empty()) BIO_write(in, to_client.data(), static_cast<int>(to_client.size()));
  }
  EXPECT_FALSE(server.finished());
  return failure_of(server);
}

TEST(TlsRefusal, of_a_client_without_a_certificate) {
  const Pki pki;
  EXPECT_EQ(server_words(*test::certificates(pki.server_keys()), [](SSL&) {}),
            "the peer shows no certificate; give it one, and its private key");
}

TEST(TlsRefusal, of_foreign_clients) {
  const auto key = test::psk("node-a");
  EXPECT_EQ(server_words(*key, [](SSL&) {}),
            "the peer uses certificates, we hold a pre-shared key; set up both ends the same way");
  EXPECT_NE(server_words(*key, [](SSL& ssl) { SSL_set_max_proto_version(&ssl, TLS1_2_VERSION); }),
            "");
}

TEST(TlsRefusal, of_changed_bytes) {
  Pki pki;
  // Their signatures have one length, and so have the flights.
  const auto ed25519 = tests::KeyType::ed25519;
  pki.client = pki.authority.issue({.name = "client.example", .key = ed25519});
  pki.server = pki.authority.issue({.name = "server.example", .key = ed25519});
  const auto key = test::psk("node-a");
  const auto client = test::certificates(pki.client_keys());
  const auto server = test::certificates(pki.server_keys());
  for (const bool with_key : {true, false}) {
    Credentials& of_client = with_key ? *key : *client;
    Credentials& of_server = with_key ? *key : *server;
    for (const int flight : {0, 1, 2}) {
      std::size_t size = 1;
      for (std::size_t at = 0; at < size; at += with_key ? 1 : 5) {
        if (at == 1 || at == 2) continue;  // the version of a plain record means nothing
        TlsPair pair(of_client, of_server, "");
        pair.client.receive({});
        for (int i = 0; i < 4; ++i) {
          TlsSession& from = i % 2 == 0 ? pair.client : pair.server;
          TlsSession& to = i % 2 == 0 ? pair.server : pair.client;
          Bytes bytes;
          from.take_output(bytes);
          if (i == flight) {
            size = bytes.size();
            bytes.at(at) ^= std::byte{1};
          }
          to.receive(bytes);
        }
        ASSERT_FALSE(pair.server.finished()) << with_key << flight << " " << at;
        ASSERT_TRUE(flight == 2 || !pair.client.finished()) << with_key << flight << " " << at;
      }
    }
  }
}

TEST(TlsRefusal, of_parameters_changed_on_the_way) {
  const Pki pki;
  const auto client = test::certificates(pki.client_keys());
  const auto server = test::certificates(pki.server_keys());
  TlsPair pair(*client, *server);
  pair.client.receive({});
  Bytes hello;
  pair.client.take_output(hello);
  const Bytes parameters = hex("c1c2c3");
  const auto found = std::search(hello.begin(), hello.end(), parameters.begin(), parameters.end());
  ASSERT_NE(found, hello.end());
  *found ^= std::byte{1};
  pair.server.receive(hello);
  pair.carry(pair.server, pair.client);
  pair.carry(pair.client, pair.server);
  EXPECT_FALSE(pair.client.finished());
  EXPECT_FALSE(pair.server.finished());
  EXPECT_TRUE(contains(failure_of(pair.client), "nothing on the way changes packets?"));
}

TEST(TlsRefusal, of_garbage_and_repetition) {
  const auto key = test::psk("node-a");
  base::Random random(1);
  for (int i = 0; i < 500; ++i) {
    Bytes garbage = wire::test::random_bytes(random, 1 + random.below(300));
    if (i % 2 == 1 && garbage.size() > 10) {
      std::ranges::copy(hex("1603010100010000fc0303"), garbage.begin());
    }
    TlsPair pair(*key);
    pair.client.receive({});
    pair.client.receive(garbage);
    pair.server.receive(garbage);
    EXPECT_FALSE(pair.client.finished());
    EXPECT_FALSE(pair.server.finished());
  }
  TlsPair pair(*key);
  pair.client.receive({});
  Bytes hello;
  pair.client.take_output(hello);
  pair.server.receive(hello);
  pair.server.receive(hello);
  EXPECT_TRUE(pair.server.failure());
  TlsPair mirror(*key);
  mirror.client.receive({});
  hello.clear();
  mirror.client.take_output(hello);
  mirror.client.receive(hello);
  EXPECT_TRUE(mirror.client.failure()) << "its own words";
}

TEST(TlsRefusal, of_more_than_a_handshake_can_be) {
  const auto key = test::psk("node-a");
  TlsPair pair(*key);
  // A record that never becomes whole, in a message that never becomes whole.
  const Bytes start = hex("16030140000100ffff0303");
  pair.server.receive(start);
  const Bytes zeros(16'384, std::byte{0});
  for (int i = 0; i < 20 && !pair.server.failure(); ++i) pair.server.receive(zeros);
  EXPECT_TRUE(pair.server.failure());
  const std::string words = failure_of(pair.server);
  for (int i = 0; i < 1000; ++i) pair.server.receive(zeros);
  EXPECT_EQ(failure_of(pair.server), words);
}

TEST(TlsRefusal, leaves_no_errors_behind_in_the_queue_of_openssl) {
  const auto one = test::psk("node-a", 7);
  const auto other = test::psk("node-a", 8);
  (void)refused(*one, *other);
  EXPECT_EQ(ERR_peek_error(), 0u);
  EXPECT_FALSE(Credentials::from_certificates({"x", "x", "x", "", {}}));
  EXPECT_EQ(ERR_peek_error(), 0u);
}

}  // namespace
}  // namespace longhaul::crypto
