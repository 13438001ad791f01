// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/endpoint_setup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/perf/flags.hpp"

namespace longhaul::apps::perf {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

std::string error_of(const Options& options) {
  const auto endpoint = open_endpoint(options, any_address(AddressFamily::ipv4, 0));
  return endpoint ? "opened" : endpoint.error().context;
}

Options unprotected() {
  Options options;
  options.security = "none";
  return options;
}

TEST(OpenEndpoint, ErrorsNameFlagsAndNotMembers) {
  Options options = unprotected();
  options.cpu = 1023;
  EXPECT_THAT(error_of(options), testing::AllOf(HasSubstr("-A 1023"), Not(HasSubstr("worker"))));
  options = unprotected();
  options.heartbeat = 5s;
  EXPECT_THAT(error_of(options), testing::AllOf(HasSubstr("--heartbeat has"), HasSubstr("left out"),
                                                HasSubstr("--peer-timeout")));
  options = unprotected();
  options.rtt_max = 90s;
  EXPECT_THAT(error_of(options), testing::StartsWith("--rtt-max has"));
}

TEST(OpenEndpoint, ErrorsOfKeysNameTheirFlags) {
  Options options;
  options.key_path = "/no/such/key";
  EXPECT_THAT(error_of(options), testing::StartsWith("--key /no/such/key cannot be read"));
  options = {};
  options.certificate_path = "/no/such.pem";
  EXPECT_THAT(error_of(options), testing::StartsWith("--cert-key is not set"));
  options.private_key_path = "/no/such.key";
  EXPECT_THAT(error_of(options), testing::StartsWith("neither --ca nor --peer-fingerprint is set"));
  options.ca_path = "/no/ca.pem";
  options.peer_name = "gateway";
  options.peer_fingerprints = {"ab"};
  EXPECT_THAT(error_of(options), testing::StartsWith("--ca and --peer-fingerprint are both set"));
}

TEST(OpenEndpoint, WhatIsCalledSecurityFollowsFromTheKey) {
  Options options;
  options.key_path = "k";
  EXPECT_EQ(security_name(options), "psk");
  options = {};
  options.certificate_path = "c";
  EXPECT_EQ(security_name(options), "certificates");
  EXPECT_EQ(security_name(unprotected()), "none");
}

TEST(OpenEndpoint, APortThatIsTakenHasItsFlag) {
  const auto first = open_endpoint(unprotected(), any_address(AddressFamily::ipv4, 0));
  ASSERT_TRUE(first);
  const auto second = open_endpoint(unprotected(), first->local_address());
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().context, HasSubstr("choose another port with -p or"));
}

TEST(OpenEndpoint, EveryControllerOfTheLibraryIsInTheHelp) {
  Options options = unprotected();
  options.controller = "none-such";
  const std::string text = error_of(options);
  const std::size_t names = text.find("there are: ");
  ASSERT_NE(names, std::string::npos) << text;
  std::string list = text.substr(names + 11);
  list.replace(list.find(", "), 2, " or ");
  EXPECT_THAT(help_text(), HasSubstr("congestion controller: " + list + " "));
}

TEST(InFlags, TakesWholeWords) {
  EXPECT_EQ(in_flags("heartbeats of heartbeat, peer_timeouts"),
            "heartbeats of --heartbeat, peer_timeouts");
  EXPECT_EQ(in_flags("my_rtt_max rtt_max"), "my_rtt_max --rtt-max");
}

TEST(AddressToward, ReplacesAWildcardByTheAddressInUse) {
  for (const char* host : {"127.0.0.1", "::1"}) {
    const SocketAddress remote = *SocketAddress::parse(host, 5201);
    const SocketAddress known = address_toward({}, any_address(remote.family, 77), remote);
    EXPECT_EQ(known, *SocketAddress::parse(host, 77));
  }
  const SocketAddress bound = *SocketAddress::parse("127.0.0.2", 78);
  EXPECT_EQ(address_toward({}, bound, *SocketAddress::parse("127.0.0.1", 5201)), bound);
}

}  // namespace
}  // namespace longhaul::apps::perf
