// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/credentials.hpp"

#include <gtest/gtest.h>

#include "tests/unit/crypto/tls_pair.hpp"

namespace longhaul::crypto {
namespace {

using test::Pki;

std::string refusal(const CertificateKeys& keys) {
  const auto credentials = Credentials::from_certificates(keys);
  if (credentials) return "taken";
  EXPECT_EQ(credentials.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(credentials.error().context.find("; "), std::string::npos) << "cause and remedy";
  return credentials.error().context;
}

class CredentialsTest : public testing::Test {
 protected:
  Pki pki_;
  CertificateKeys keys_ = pki_.client_keys();
};

TEST_F(CredentialsTest, take_what_fits) {
  EXPECT_EQ(refusal(keys_), "taken");
  keys_.private_key_pem = keys_.certificate_pem + keys_.private_key_pem;
  EXPECT_EQ(refusal(keys_), "taken") << "certificate and key may stand in one file";
  keys_.certificate_pem = "Certificate:\n  Data:\n" + keys_.private_key_pem;
  EXPECT_EQ(refusal(keys_), "taken");
  keys_.ca_pem += pki_.authority.certificate_pem();
  EXPECT_EQ(refusal(keys_), "taken") << "one CA twice";
}

TEST_F(CredentialsTest, pass_over_the_mark_some_editors_put_in_front) {
  const std::string mark = "\xef\xbb\xbf";
  keys_.certificate_pem = mark + keys_.certificate_pem;
  keys_.private_key_pem = mark + keys_.private_key_pem;
  keys_.ca_pem = mark + keys_.ca_pem;
  EXPECT_EQ(refusal(keys_), "taken");
  // What stands behind the second one would be left out.
  keys_.ca_pem += mark + pki_.authority.certificate_pem();
  EXPECT_TRUE(refusal(keys_).starts_with("the list of CAs has a byte order mark in its middle"))
      << refusal(keys_);
}

TEST_F(CredentialsTest, refuse_a_chain_no_peer_would_take) {
  const std::string own = keys_.certificate_pem;
  const std::string above = pki_.authority.certificate_pem();
  const auto with_chain_of = [&](std::size_t certificates) {
    keys_.certificate_pem = own;
    for (std::size_t i = 0; i < certificates; ++i) keys_.certificate_pem += above;
    return refusal(keys_);
  };
  EXPECT_EQ(with_chain_of(50), "taken");
  const std::string refused = with_chain_of(500);
  EXPECT_TRUE(refused.starts_with("the own certificate and its chain, 501 certificates, take 1"))
      << refused;
  EXPECT_NE(refused.find("a peer takes 102400; leave in the file"), std::string::npos) << refused;
  // The longest that is taken is one a peer takes as well.
  std::size_t least_refused = 500;
  for (std::size_t taken = 50; least_refused - taken > 1;) {
    const std::size_t middle = (taken + least_refused) / 2;
    (with_chain_of(middle) == "taken" ? taken : least_refused) = middle;
  }
  ASSERT_EQ(with_chain_of(least_refused - 1), "taken");
  const auto client = test::certificates(keys_);
  const auto server = test::certificates(pki_.server_keys());
  test::TlsPair pair(*client, *server);
  pair.run();
  EXPECT_TRUE(pair.client.finished()) << test::failure_of(pair.client);
  EXPECT_TRUE(pair.server.finished()) << test::failure_of(pair.server);
}

TEST_F(CredentialsTest, refuse_a_key_of_another_certificate) {
  keys_.private_key_pem = pki_.server.private_key_pem;
  EXPECT_EQ(refusal(keys_),
            "the private key does not belong to the own certificate (CN=client.example); give the "
            "key it was made with, and put the own certificate first");
  keys_.private_key_pem = tests::self_signed({.key = tests::KeyType::ed25519}).private_key_pem;
  EXPECT_TRUE(refusal(keys_).starts_with("the private key does not belong to"));
}

TEST_F(CredentialsTest, refuse_what_is_no_pem) {
  const std::string good = keys_.certificate_pem;
  for (const std::string& text : {std::string(), std::string("hello"), keys_.private_key_pem}) {
    keys_.certificate_pem = text;
    EXPECT_EQ(refusal(keys_),
              "the own certificate holds no certificate; it must be PEM, -----BEGIN "
              "CERTIFICATE-----");
  }
  keys_.certificate_pem = good + good.substr(0, good.size() / 2);
  EXPECT_TRUE(refusal(keys_).starts_with("the own certificate: certificate 2 is damaged"))
      << refusal(keys_);
  keys_.certificate_pem = good;
  keys_.certificate_pem[100] = '!';
  EXPECT_TRUE(refusal(keys_).starts_with("the own certificate: certificate 1 is damaged"));
  keys_.certificate_pem = good;
  for (const std::string& text : {std::string(), std::string("hello"), good}) {
    keys_.private_key_pem = text;
    EXPECT_EQ(refusal(keys_),
              "the private key holds no private key; it must be PEM, -----BEGIN PRIVATE KEY-----");
  }
}

TEST_F(CredentialsTest, refuse_an_encrypted_key_and_ask_nobody_for_its_passphrase) {
  keys_.private_key_pem = tests::encrypted(keys_.private_key_pem, "secret");
  EXPECT_EQ(refusal(keys_), "the private key is encrypted; decrypt it first, openssl pkey does it");
}

TEST_F(CredentialsTest, refuse_to_believe_anybody_or_nobody) {
  keys_.ca_pem.clear();
  EXPECT_EQ(refusal(keys_),
            "with neither a CA nor a pinned fingerprint no peer could be believed; give one of "
            "both");
  keys_.peer_fingerprints = {Fingerprint{}};
  EXPECT_EQ(refusal(keys_), "taken");
  keys_.ca_pem = "hello";
  EXPECT_TRUE(refusal(keys_).starts_with("the list of CAs holds no certificate"));
}

TEST_F(CredentialsTest, blame_what_is_wrong_by_the_name_it_was_given) {
  keys_.certificate_name = "certificate_file a.pem";
  keys_.private_key_name = "private_key_file a.key";
  keys_.ca_name = "ca_file ca.pem";
  CertificateKeys bad = keys_;
  bad.ca_pem = keys_.private_key_pem;
  EXPECT_TRUE(refusal(bad).starts_with("ca_file ca.pem holds no certificate"));
  bad = keys_;
  bad.certificate_pem = keys_.private_key_pem;
  EXPECT_TRUE(refusal(bad).starts_with("certificate_file a.pem holds no certificate"));
  bad = keys_;
  bad.private_key_pem = keys_.certificate_pem;
  EXPECT_TRUE(refusal(bad).starts_with("private_key_file a.key holds no private key"));
  bad = keys_;
  bad.private_key_pem = pki_.server.private_key_pem;
  EXPECT_TRUE(refusal(bad).starts_with(
      "private_key_file a.key does not belong to certificate_file a.pem (CN=client.example)"));
  bad = keys_;
  bad.peer_name = std::string("a\0b", 3);
  EXPECT_TRUE(refusal(bad).starts_with("peer_name "));
}

TEST_F(CredentialsTest, never_show_the_key_in_an_error) {
  const std::string digits = keys_.private_key_pem.substr(40, 20);
  keys_.private_key_pem[60] ^= 1;
  EXPECT_EQ(refusal(keys_).find(digits.substr(0, 8)), std::string::npos);
}

TEST(PskCredentials, want_a_name_they_can_send) {
  PskKey key;
  EXPECT_FALSE(Credentials::from_psk(key));
  key.identity = "two words";
  EXPECT_FALSE(Credentials::from_psk(key));
  key.identity = std::string(64, 'a');
  EXPECT_TRUE(Credentials::from_psk(key));
}

}  // namespace
}  // namespace longhaul::crypto
