// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "lib/crypto/tls_credentials.hpp"
#include "lib/crypto/tls_session.hpp"
#include "tests/unit/crypto/tls_pair.hpp"

namespace longhaul::crypto {
namespace {

using std::chrono::seconds;
using test::expect_matching_secrets;
using test::Pki;
using test::same;
using test::TlsPair;

struct Ends {
  Pki pki;
  std::shared_ptr<Credentials> client = test::certificates(pki.client_keys());
  std::shared_ptr<Credentials> server = test::certificates(pki.server_keys());
};

SessionCache& sessions_of(Credentials& credentials) {
  return static_cast<TlsCredentials&>(credentials).sessions();
}

TEST(TlsResumption, saves_certificates_and_makes_new_secrets) {
  Ends ends;
  TlsPair first(*ends.client, *ends.server);
  first.run();
  ASSERT_TRUE(first.both_finished()) << first.failures();
  EXPECT_FALSE(first.client.resumed());
  EXPECT_FALSE(first.server.resumed());
  Secret before = first.client.secrets().send;
  // Each session brings the next ticket.
  for (int i = 0; i < 3; ++i) {
    TlsPair again(*ends.client, *ends.server);
    again.run();
    ASSERT_TRUE(again.both_finished()) << again.failures();
    EXPECT_TRUE(again.client.resumed());
    EXPECT_TRUE(again.server.resumed());
    expect_matching_secrets(again);
    EXPECT_FALSE(same(again.client.secrets().send, before));
    before = again.client.secrets().send;
    EXPECT_EQ(again.client.peer_identity(), first.client.peer_identity());
    EXPECT_EQ(again.server.peer_identity(), first.server.peer_identity());
    EXPECT_FALSE(again.server.peer_parameters().empty());
    EXPECT_FALSE(again.client.peer_parameters().empty());
    EXPECT_LT(again.bytes, first.bytes);
  }
}

TEST(TlsResumption, is_for_the_same_peer) {
  Ends ends;
  TlsPair(*ends.client, *ends.server, "one").run();
  TlsPair other(*ends.client, *ends.server, "two");
  other.run();
  EXPECT_TRUE(other.both_finished());
  EXPECT_FALSE(other.client.resumed());
  TlsPair nameless(*ends.client, *ends.server, "");
  nameless.run();
  EXPECT_EQ(sessions_of(*ends.client).size(), 2u) << "nothing is kept without a name";
}

TEST(TlsResumption, uses_a_ticket_once) {
  Ends ends;
  TlsPair(*ends.client, *ends.server).run();
  TlsPair one(*ends.client, *ends.server);
  TlsPair two(*ends.client, *ends.server);
  one.run();
  two.run();
  EXPECT_TRUE(one.client.resumed());
  EXPECT_FALSE(two.client.resumed());
  EXPECT_TRUE(two.both_finished());
}

TEST(TlsResumption, does_not_outlive_the_credentials_of_either_end) {
  Ends ends;
  TlsPair(*ends.client, *ends.server).run();
  // A server that was started again cannot read its old tickets.
  const auto new_server = test::certificates(ends.pki.server_keys());
  TlsPair restarted(*ends.client, *new_server);
  restarted.run();
  EXPECT_TRUE(restarted.both_finished()) << restarted.failures();
  EXPECT_FALSE(restarted.client.resumed());
  const auto new_client = test::certificates(ends.pki.client_keys());
  TlsPair fresh(*new_client, *new_server);
  fresh.run();
  EXPECT_FALSE(fresh.client.resumed());
}

TEST(TlsResumption, judges_the_peer_of_a_session_again) {
  Ends ends;
  TlsPair(*ends.client, *ends.server).run();
  const SslSessionPtr session = sessions_of(*ends.client).take("server");
  ASSERT_NE(session, nullptr);
  X509* const certificate = SSL_SESSION_get0_peer(session.get());
  ASSERT_NE(certificate, nullptr);
  EXPECT_TRUE((PeerRule{{}, "server.example"}).still_believed(certificate));
  EXPECT_TRUE((PeerRule{{}, ""}).still_believed(certificate));
  EXPECT_FALSE((PeerRule{{}, "other.example"}).still_believed(certificate));
  EXPECT_FALSE((PeerRule{{}, "192.0.2.1"}).still_believed(certificate));
  EXPECT_TRUE((PeerRule{{fingerprint_of(*certificate)}, ""}).still_believed(certificate));
  EXPECT_FALSE((PeerRule{{Fingerprint{}}, ""}).still_believed(certificate));
  EXPECT_FALSE((PeerRule{{}, ""}).still_believed(nullptr));
  X509_gmtime_adj(X509_getm_notAfter(certificate), -60);
  EXPECT_FALSE((PeerRule{{}, ""}).still_believed(certificate)) << "expired meanwhile";
}

TEST(TlsResumption, does_not_offer_a_session_whose_certificate_expired) {
  Ends ends;
  TlsPair(*ends.client, *ends.server).run();
  SslSessionPtr session = sessions_of(*ends.client).take("server");
  X509_gmtime_adj(X509_getm_notAfter(SSL_SESSION_get0_peer(session.get())), -60);
  sessions_of(*ends.client).put("server", std::move(session));
  TlsPair again(*ends.client, *ends.server);
  again.run();
  EXPECT_TRUE(again.both_finished()) << "the server has a new one: " << again.failures();
  EXPECT_FALSE(again.client.resumed());
}

TEST(TlsResumption, a_server_does_not_resume_with_a_client_that_expired) {
  Pki pki;
  pki.client = pki.authority.issue({.name = "client.example", .valid_until = seconds(3)});
  const auto client = test::certificates(pki.client_keys());
  const auto server = test::certificates(pki.server_keys());
  TlsPair first(*client, *server);
  first.run();
  ASSERT_TRUE(first.both_finished()) << first.failures();
  std::this_thread::sleep_for(seconds(4));
  TlsPair again(*client, *server);
  again.run();
  EXPECT_FALSE(again.client.resumed());
  EXPECT_FALSE(again.server.finished());
  EXPECT_NE(test::failure_of(again.server).find("expired"), std::string::npos);
}

TEST(TlsResumption, is_not_for_pre_shared_keys) {
  const auto key = test::psk("node-a");
  for (int i = 0; i < 2; ++i) {
    TlsPair pair(*key);
    pair.run();
    EXPECT_TRUE(pair.both_finished());
    EXPECT_FALSE(pair.client.resumed());
    EXPECT_FALSE(pair.server.resumed());
  }
  EXPECT_EQ(sessions_of(*key).size(), 0u);
}

TEST(TlsResumption, with_a_lost_ticket_nothing_happens) {
  Ends ends;
  TlsPair pair(*ends.client, *ends.server);
  pair.client.receive({});
  pair.carry(pair.client, pair.server);
  pair.carry(pair.server, pair.client);
  pair.carry(pair.client, pair.server);
  EXPECT_TRUE(pair.both_finished());
  EXPECT_EQ(sessions_of(*ends.client).size(), 0u);
  TlsPair again(*ends.client, *ends.server);
  again.run();
  EXPECT_TRUE(again.both_finished());
}

}  // namespace
}  // namespace longhaul::crypto
