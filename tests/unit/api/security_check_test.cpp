// SPDX-License-Identifier: Apache-2.0
#include "lib/api/security_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longhaul::api {
namespace {

using testing::AllOf;
using testing::HasSubstr;

EndpointConfig with_certificates() {
  EndpointConfig config;
  config.certificate_file = "own.pem";
  config.private_key_file = "own.key";
  config.ca_file = "ca.pem";
  return config;
}

EndpointConfig with_key() {
  EndpointConfig config;
  config.psk_file = "a.key";
  return config;
}

void expect_refused(const EndpointConfig& config, const testing::Matcher<std::string>& words) {
  const auto checked = check_security(config);
  ASSERT_FALSE(checked) << to_string(*checked);
  EXPECT_EQ(checked.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(checked.error().context, words);
}

TEST(SecurityCheck, NothingAtAllSaysTheLinesThatFixIt) {
  expect_refused({}, AllOf(HasSubstr("\n    longhaul-perf --generate-key FILE\n"),
                           HasSubstr("\n    config.psk_file = \"FILE\";\n"),
                           HasSubstr("\n    config.security = \"none\";")));
}

TEST(SecurityCheck, TheKeyThatIsConfiguredDecides) {
  EXPECT_EQ(check_security(with_key()), Security::psk);
  EXPECT_EQ(check_security(with_certificates()), Security::certificates);
  EndpointConfig config;
  config.psk = "text";
  EXPECT_EQ(check_security(config), Security::psk);
}

TEST(SecurityCheck, OneCanInsistOnAKind) {
  EndpointConfig config = with_key();
  config.security = "psk";
  EXPECT_EQ(check_security(config), Security::psk);
  config = with_certificates();
  config.security = "certificates";
  EXPECT_EQ(check_security(config), Security::certificates);
  config = {};
  config.security = "psk";
  expect_refused(config, AllOf(HasSubstr("psk_file"), HasSubstr("set one of them")));
  config.security = "certificates";
  expect_refused(config, HasSubstr("certificate_file is not set"));
}

TEST(SecurityCheck, NoneIsAskedForByName) {
  EndpointConfig config;
  config.security = "none";
  EXPECT_EQ(check_security(config), Security::none);
}

TEST(SecurityCheck, AnUnknownNameIsRefusedWithTheNamesThereAre) {
  for (const char* name : {"tls", "None", "psk "}) {
    EndpointConfig config = with_key();
    config.security = name;
    expect_refused(config, AllOf(HasSubstr(name), HasSubstr("psk, certificates, none")));
  }
}

TEST(SecurityCheck, ANameOfThePeerIsWholeAndNoDomain) {
  EndpointConfig config = with_certificates();
  config.peer_name = "srv.example.com";
  EXPECT_EQ(check_security(config), Security::certificates);
  for (const char* domain : {".example.com", ".com", "."}) {
    config.peer_name = domain;
    expect_refused(config, AllOf(HasSubstr("peer_name " + std::string(domain)),
                                 HasSubstr("begins with a dot"), HasSubstr("whole name")));
  }
}

TEST(SecurityCheck, ContradictionsAreNamed) {
  EndpointConfig config = with_key();
  config.security = "none";
  expect_refused(config, AllOf(HasSubstr("\"none\""), HasSubstr("psk_file is set")));
  config = with_certificates();
  config.security = "none";
  expect_refused(config, AllOf(HasSubstr("\"none\""), HasSubstr("certificate_file is set")));
  config.security = "psk";
  expect_refused(config, AllOf(HasSubstr("\"psk\""), HasSubstr("certificate_file is set")));
  config = with_key();
  config.security = "certificates";
  expect_refused(config, AllOf(HasSubstr("\"certificates\""), HasSubstr("psk_file is set")));
  config = with_key();
  config.psk = "text";
  expect_refused(config, HasSubstr("psk and psk_file"));
}

TEST(SecurityCheck, OneKindOfKeyAtATime) {
  const auto refused_with_a_key = [](auto set, const char* name) {
    EndpointConfig config = with_key();
    set(config);
    expect_refused(config, AllOf(HasSubstr("psk_file"), HasSubstr(name)));
  };
  refused_with_a_key([](auto& c) { c.certificate_file = "c"; }, "certificate_file");
  refused_with_a_key([](auto& c) { c.private_key_file = "k"; }, "private_key_file");
  refused_with_a_key([](auto& c) { c.ca_file = "a"; }, "ca_file");
  refused_with_a_key([](auto& c) { c.peer_name = "n"; }, "peer_name");
  refused_with_a_key([](auto& c) { c.peer_fingerprints = {"f"}; }, "peer_fingerprints");
}

TEST(SecurityCheck, HalfOfACertificateIsNone) {
  EndpointConfig config = with_certificates();
  config.certificate_file.clear();
  expect_refused(config, HasSubstr("certificate_file is not set"));
  config = with_certificates();
  config.private_key_file.clear();
  expect_refused(config, HasSubstr("private_key_file is not set"));
}

TEST(SecurityCheck, SomebodyHasToBeBelieved) {
  EndpointConfig config = with_certificates();
  config.ca_file.clear();
  expect_refused(config, HasSubstr("neither ca_file nor peer_fingerprints"));
  config.peer_name = "gateway";
  expect_refused(config, HasSubstr("neither ca_file nor peer_fingerprints"));
  config.peer_name.clear();
  config.peer_fingerprints = {"ab"};
  EXPECT_EQ(check_security(config), Security::certificates);
}

TEST(SecurityCheck, NobodyReliesOnACheckThatIsNotMade) {
  EndpointConfig config = with_certificates();
  config.peer_fingerprints = {"ab"};
  expect_refused(config, HasSubstr("ca_file and peer_fingerprints are both set"));
  config.ca_file.clear();
  config.peer_name = "gateway";
  expect_refused(config, HasSubstr("peer_name and peer_fingerprints are both set"));
}

}  // namespace
}  // namespace longhaul::api
