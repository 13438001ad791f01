// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/flags.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "apps/perf/plan.hpp"

namespace longhaul::apps::perf {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

Result<CommandLine> parse_as_it_is(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "longhaul-perf");
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

/// With a key, which most tests are not about.
Result<CommandLine> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"--key", "k"});
  return parse_as_it_is(std::move(arguments));
}

Options options_of(std::vector<const char*> arguments) {
  auto line = parse(std::move(arguments));
  EXPECT_TRUE(line) << line.error().context;
  return line ? line->options : Options{};
}

std::string error_of(std::vector<const char*> arguments) {
  auto line = parse(std::move(arguments));
  return line ? "accepted" : line.error().context;
}

TEST(Flags, AServerAndAClientNeedNothingElse) {
  EXPECT_EQ(options_of({"-s"}).role, Role::server);
  const Options client = options_of({"-c", "192.0.2.1"});
  EXPECT_EQ(client.role, Role::client);
  EXPECT_EQ(client.host, "192.0.2.1");
  EXPECT_EQ(client.port, 5201);
}

TEST(Flags, EveryFlagOfAClientIsUnderstood) {
  const Options options = options_of({"-c",        "h",
                                      "-p",        "7000",
                                      "-t",        "2.5",
                                      "-O",        "1",
                                      "-i",        "0.5",
                                      "-P",        "8",
                                      "-b",        "900M",
                                      "-C",        "fixed",
                                      "-J",        "--shape",
                                      "4096x4096", "--dtype",
                                      "bf16",      "--mtu",
                                      "1500",      "--peer-timeout",
                                      "3",         "--heartbeat",
                                      "100ms",     "--inject-loss",
                                      "1%",        "--inject-delay",
                                      "25ms",      "--inject-reorder",
                                      "0.02",      "--inject-corrupt",
                                      "3%",        "--rtt-max",
                                      "300ms",     "--seed",
                                      "9"});
  EXPECT_EQ(options.port, 7000);
  EXPECT_EQ(options.time, 2500ms);
  EXPECT_EQ(options.omit, 1s);
  EXPECT_EQ(options.interval, 500ms);
  EXPECT_EQ(options.parallel, 8u);
  EXPECT_EQ(options.rate_bps, 900'000'000u);
  EXPECT_EQ(options.controller, "fixed");
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.extents, (std::vector<std::uint64_t>{4096, 4096}));
  EXPECT_EQ(options.dtype, Dtype::bf16);
  EXPECT_EQ(options.mtu, 1500u);
  EXPECT_EQ(options.peer_timeout, Duration(3s));
  EXPECT_EQ(options.heartbeat, Duration(100ms));
  EXPECT_DOUBLE_EQ(options.inject.loss, 0.01);
  EXPECT_EQ(options.inject.delay, 25ms);
  EXPECT_DOUBLE_EQ(options.inject.reorder, 0.02);
  EXPECT_DOUBLE_EQ(options.inject.corrupt, 0.03);
  EXPECT_EQ(options.rtt_max, Duration(300ms));
  EXPECT_EQ(options.seed, 9u);
}

std::string error_as_it_is(std::vector<const char*> arguments) {
  auto line = parse_as_it_is(std::move(arguments));
  return line ? "accepted" : line.error().context;
}

TEST(Flags, WithoutAKeyTheLinesThatFixItAreSaid) {
  for (const auto& role : {std::vector<const char*>{"-s"}, {"-c", "h"}}) {
    EXPECT_THAT(
        error_as_it_is(role),
        testing::AllOf(HasSubstr("    longhaul-perf --generate-key longhaul.key\n"),
                       HasSubstr("    --key longhaul.key\n"), HasSubstr("    --security none")));
  }
  EXPECT_EQ(error_as_it_is({"-s", "--security", "none"}), "accepted");
  EXPECT_EQ(error_as_it_is({"-s", "--key", "k"}), "accepted");
  EXPECT_EQ(error_as_it_is({"-s", "--security", "psk", "--key", "k"}), "accepted");
  EXPECT_EQ(error_as_it_is({"--make-sample", "f"}), "accepted");
  EXPECT_EQ(error_as_it_is({"--generate-key", "f"}), "accepted");
}

TEST(Flags, KeysAndCertificatesAreUnderstood) {
  EXPECT_EQ(options_of({"-s"}).key_path, "k");
  const auto line =
      parse_as_it_is({"-c", "h", "--cert", "c.pem", "--cert-key", "p.pem", "--ca", "a.pem",
                      "--peer-name", "gateway", "--peer-fingerprint", "ab:cd,ef"});
  ASSERT_TRUE(line) << line.error().context;
  EXPECT_EQ(line->options.certificate_path, "c.pem");
  EXPECT_EQ(line->options.private_key_path, "p.pem");
  EXPECT_EQ(line->options.ca_path, "a.pem");
  EXPECT_EQ(line->options.peer_name, "gateway");
  EXPECT_EQ(line->options.peer_fingerprints, (std::vector<std::string>{"ab:cd", "ef"}));
  EXPECT_TRUE(line->options.security.empty());
  const auto key = parse_as_it_is({"--generate-key", "f", "--key-name", "lab"});
  ASSERT_TRUE(key) << key.error().context;
  EXPECT_EQ(key->options.role, Role::generate_key);
  EXPECT_EQ(key->options.new_key_path, "f");
  EXPECT_EQ(key->options.key_name, "lab");
}

TEST(Flags, KeysThatContradictEachOtherAreRefused) {
  EXPECT_THAT(error_as_it_is({"-s", "--key", "k", "--cert", "c"}), HasSubstr("one of them"));
  EXPECT_THAT(error_as_it_is({"-s", "--key", "k", "--security", "none"}),
              HasSubstr("--security none"));
  EXPECT_THAT(error_as_it_is({"-s", "--ca", "a", "--security", "none"}),
              HasSubstr("--security none"));
  EXPECT_THAT(error_as_it_is({"-s", "--security", "psk"}), HasSubstr("--key FILE"));
  EXPECT_THAT(error_as_it_is({"-s", "--security", "certificates"}), HasSubstr("--cert-key"));
  EXPECT_THAT(error_as_it_is({"-s", "--security", "tls"}), HasSubstr("certificates and none"));
  EXPECT_THAT(error_as_it_is({"-s", "--generate-key", "f"}),
              StartsWith("-s, -c, --make-sample and --generate-key exclude each other"));
  EXPECT_THAT(error_as_it_is({"-s", "--key", ""}), HasSubstr("--key"));
}

TEST(Flags, ANumberIsTransfersAndWithASuffixBytes) {
  EXPECT_EQ(options_of({"-c", "h", "-n", "100"}).amount.transfers, 100u);
  EXPECT_EQ(options_of({"-c", "h", "-n", "1G"}).amount.bytes, 1u << 30);
  EXPECT_EQ(options_of({"-c", "h", "--bytes", "1G"}).amount.bytes, 1u << 30);
  EXPECT_THAT(error_of({"-c", "h", "-n", "0"}), HasSubstr("--number"));
}

TEST(Flags, HelpAndVersionNeedNoRole) {
  EXPECT_EQ(parse({"--help"}).value().command, Command::help);
  EXPECT_EQ(parse({"-h"}).value().command, Command::help);
  EXPECT_EQ(parse({"--version"}).value().command, Command::version);
}

TEST(Flags, WrongValuesNameTheFlagAndTheRemedy) {
  EXPECT_THAT(error_of({"-c", "h", "--size", "big"}),
              testing::AllOf(HasSubstr("--size"), HasSubstr("such as 64M")));
  EXPECT_THAT(error_of({"-c", "h", "--dtype", "f99"}), HasSubstr("--dtype"));
  EXPECT_THAT(error_of({"-c", "h", "-p", "70000"}), HasSubstr("--port"));
  EXPECT_THAT(error_of({"-c", "h", "-p", "0"}),
              HasSubstr("--port: \"0\" is not a whole number from 1 to 65535"));
  EXPECT_THAT(error_of({"-c", "h", "-t", "0"}), HasSubstr("--time"));
  EXPECT_THAT(error_of({"-c", "h", "-P", "0"}),
              HasSubstr("--parallel: \"0\" is not a whole number from 1 to"));
  EXPECT_THAT(error_of({"-c", "h", "-P", "many"}), HasSubstr("from 1 to 16384"));
  EXPECT_THAT(error_of({"-c", "h", "-b", "12"}), HasSubstr("--bitrate"));
  for (const char* mtu : {"500", "70000", "x"}) {
    EXPECT_THAT(error_of({"-c", "h", "--mtu", mtu}),
                testing::AllOf(HasSubstr("--mtu"), HasSubstr("1280 to 65535")));
  }
  EXPECT_THAT(error_of({"-c", "h", "-t", "-5"}), HasSubstr("less than 0"));
  EXPECT_THAT(error_of({"-c", "h", "--inject-delay", "25"}), HasSubstr("25ms"));
  EXPECT_THAT(error_of({"-c", ""}), HasSubstr("--client"));
}

TEST(Flags, UnknownAndIncompleteFlagsAreRefused) {
  EXPECT_NE(error_of({"-c", "h", "--nonsense"}), "accepted");
  EXPECT_NE(error_of({"-c"}), "accepted");
  EXPECT_NE(error_of({"-c", "h", "stray"}), "accepted");
  EXPECT_NE(error_of({"-c", "h", "-t", "1", "-t", "2"}), "accepted");
}

TEST(Flags, ContradictionsAreNamed) {
  EXPECT_THAT(error_of({}), HasSubstr("-s"));
  EXPECT_NE(error_of({"-s", "-c", "h"}), "accepted");
  EXPECT_THAT(error_of({"-s", "-t", "5"}), StartsWith("-t is for the client"));
  EXPECT_THAT(error_of({"-c", "h", "--output", "f"}), HasSubstr("server"));
  EXPECT_THAT(error_of({"-c", "h", "-1"}), HasSubstr("server"));
  EXPECT_THAT(error_of({"-c", "h", "-t", "1", "-n", "1"}), HasSubstr("one of them"));
  EXPECT_THAT(error_of({"-c", "h", "--size", "1M", "--shape", "2"}), HasSubstr("one of them"));
  EXPECT_THAT(error_of({"-c", "h", "-n", "5", "-O", "1"}), HasSubstr("-O"));
  EXPECT_THAT(error_of({"-c", "h", "--file", "f", "-t", "1"}), HasSubstr("--file"));
  EXPECT_THAT(error_of({"-c", "h", "-C", "fixed"}), HasSubstr("-b"));
  EXPECT_EQ(error_of({"-c", "h", "-C", "fixed", "-b", "1G"}), "accepted");
}

TEST(Flags, Iperf3sFlagsMeanWhatTheyMeanThere) {
  EXPECT_EQ(options_of({"-c", "h", "-R"}).direction, Direction::reverse);
  EXPECT_EQ(options_of({"-c", "h", "--reverse"}).direction, Direction::reverse);
  EXPECT_EQ(options_of({"-c", "h", "--bidir"}).direction, Direction::both);
  EXPECT_EQ(options_of({"-c", "h", "-l", "128K"}).size, 128u << 10);
  EXPECT_EQ(options_of({"-c", "h", "--length", "1M"}).size, 1u << 20);
  for (const char* tos : {"184", "0xb8", "0270"}) {
    EXPECT_EQ(options_of({"-c", "h", "-S", tos}).dscp, 46) << tos;
  }
  for (const char* dscp : {"ef", "EF", "46", "0x2e", "056"}) {
    EXPECT_EQ(options_of({"-c", "h", "--dscp", dscp}).dscp, 46) << dscp;
  }
  EXPECT_EQ(options_of({"-c", "h", "--dscp", "le"}).dscp, 1);
  EXPECT_EQ(options_of({"-c", "h", "--dscp", "cs0"}).dscp, 0);
  const Options bound = options_of({"-s", "-B", "fe80::1%eth0"});
  EXPECT_EQ(bound.bind, "fe80::1");
  EXPECT_EQ(bound.device, "eth0");
  const Options pinned = options_of({"-c", "h", "-A", "3,5"});
  EXPECT_EQ(pinned.cpu, 3u);
  EXPECT_EQ(pinned.server_cpu, 5u);
  EXPECT_FALSE(options_of({"-c", "h", "-A", "3"}).server_cpu);
  EXPECT_EQ(options_of({"-s", "-4"}).family, AddressFamily::ipv4);
  EXPECT_EQ(options_of({"-s", "-6"}).family, AddressFamily::ipv6);
  EXPECT_EQ(options_of({"-c", "h", "--connect-timeout", "250"}).connect_timeout, Duration(250ms));
  EXPECT_TRUE(options_of({"-c", "h", "--json-stream"}).json_stream);
  EXPECT_TRUE(options_of({"-c", "h", "--get-server-output"}).server_output);
  const Options daemon = options_of({"-s", "-D", "-I", "pid", "--logfile", "log"});
  EXPECT_TRUE(daemon.daemon);
  EXPECT_EQ(daemon.pidfile, "pid");
  EXPECT_EQ(daemon.logfile, "log");
}

TEST(Flags, WhatCannotWorkTogetherIsRefusedWithTheRemedy) {
  EXPECT_THAT(error_of({"-c", "h", "-R", "--bidir"}), HasSubstr("give one of them"));
  EXPECT_EQ(error_of({"-c", "h", "-R", "-b", "1G"}), "accepted");
  EXPECT_THAT(error_of({"-c", "h", "-R", "-C", "cubic"}), HasSubstr("longhaul-perf -s -C"));
  EXPECT_THAT(error_of({"-c", "h", "-R", "-S", "32"}), HasSubstr("start the server with it"));
  EXPECT_EQ(error_of({"-c", "h", "--bidir", "-b", "1G"}), "accepted");
  EXPECT_THAT(error_of({"-c", "h", "-R", "--file", "f"}), HasSubstr("run the client there"));
  EXPECT_THAT(error_of({"-c", "h", "--bidir", "--file", "f"}), HasSubstr("run the client there"));
  EXPECT_THAT(error_of({"-c", "h", "-4", "-6"}), StartsWith("-4 and -6 exclude each other"));
  EXPECT_THAT(error_of({"-c", "h", "-S", "32", "--dscp", "ef"}), HasSubstr("give one of them"));
  EXPECT_THAT(error_of({"-c", "h", "-D"}), HasSubstr("server"));
  EXPECT_THAT(error_of({"-c", "h", "--reset-key", "f"}), HasSubstr("server"));
  EXPECT_EQ(options_of({"-s", "--reset-key", "f"}).reset_key_path, "f");
  for (const char* flag : {"-R", "--bidir", "--get-server-output"}) {
    EXPECT_THAT(error_of({"-s", flag}), StartsWith(std::string(flag) + " is for the client"));
  }
  EXPECT_THAT(error_of({"-s", "-l", "1M"}), StartsWith("-l is for the client"));
  EXPECT_THAT(error_of({"-s", "--dtype", "f32"}), StartsWith("--dtype is for the client"));
  EXPECT_THAT(error_of({"-s", "--connect-timeout", "1"}),
              StartsWith("--connect-timeout is for the client"));
  for (const char* role : {"-s", "-ch"}) {
    EXPECT_THAT(error_of({role, "--key-name", "n"}), StartsWith("--key-name names a key"));
    EXPECT_THAT(error_of({role, "--sample-size", "1M"}), HasSubstr("say --size"));
  }
  EXPECT_THAT(error_of({"--make-sample", "f", "-t", "1"}), StartsWith("-t is for a test"));
  EXPECT_THAT(error_of({"--generate-key", "f", "--output", "o"}),
              StartsWith("--output is for a test"));
  EXPECT_THAT(error_of({"-s", "-A", "0,1"}), HasSubstr("give a server one"));
}

TEST(Flags, BadValuesOfIperf3sFlagsAreExplained) {
  EXPECT_THAT(error_of({"-c", "h", "-S", "185"}), HasSubstr("take 184"));
  EXPECT_THAT(error_of({"-c", "h", "-S", "256"}), HasSubstr("0 to 255"));
  EXPECT_THAT(error_of({"-c", "h", "--dscp", "64"}), HasSubstr("0 to 63"));
  EXPECT_THAT(error_of({"-c", "h", "--dscp", "af44"}), HasSubstr("af41"));
  EXPECT_THAT(error_of({"-c", "h", "--dscp", "08"}), HasSubstr("no DSCP"));
  EXPECT_THAT(error_of({"-c", "h", "-B", "%eth0"}), HasSubstr("0.0.0.0%eth0"));
  EXPECT_THAT(error_of({"-c", "h", "-A", "1,"}), HasSubstr("--affinity"));
  EXPECT_THAT(error_of({"-c", "h", "--connect-timeout", "0"}), HasSubstr("longer than 0"));
  EXPECT_THAT(error_of({"-c", "h", "-i", "1us"}), HasSubstr("1ms"));
}

TEST(Flags, UnknownOnesGetAnAnswerForHumans) {
  EXPECT_THAT(error_of({"-c", "h", "-u"}), HasSubstr("everything is UDP"));
  EXPECT_THAT(error_of({"-c", "h", "--udp"}), HasSubstr("everything is UDP"));
  EXPECT_THAT(error_of({"-c", "h", "-w", "4M"}), HasSubstr("--rtt-max"));
  EXPECT_THAT(error_of({"-c", "h", "-w4M"}), HasSubstr("--rtt-max"));
  EXPECT_THAT(error_of({"-c", "h", "--no-such"}), HasSubstr("no flag --no-such"));
  EXPECT_THAT(error_of({"-c", "h", "stray"}), HasSubstr("\"stray\""));
  EXPECT_THAT(error_of({"-c", "h", "-l"}), HasSubstr("-l/--size needs a value"));
  EXPECT_THAT(error_of({"-c"}), HasSubstr("HOST"));
  EXPECT_THAT(error_as_it_is({"-c", "--key", "a.key"}), StartsWith("-c needs a value: HOST"));
  EXPECT_THAT(error_as_it_is({"-s", "--key", "-p", "1"}), StartsWith("--key needs a value: FILE"));
  for (const char* flag : {"-f", "-w", "--cport", "--idle-timeout"}) {
    EXPECT_THAT(error_of({"-c", "h", flag, "1"}), HasSubstr("leave it out")) << flag;
  }
}

TEST(Flags, OneWithAValueIsGivenOnce) {
  EXPECT_THAT(error_of({"-c", "h", "-i", "0", "-i", "1"}),
              HasSubstr("-i/--interval is given twice"));
  EXPECT_THAT(error_of({"-c", "h", "-i0", "--interval=1", "-i", "2"}),
              HasSubstr("-i/--interval is given 3 times"));
  EXPECT_THAT(error_of({"--generate-key", "a", "--generate-key", "b"}),
              HasSubstr("--generate-key is given twice; give it once"));
  EXPECT_THAT(error_of({"-c", "a", "-c", "b"}), HasSubstr("-c/--client is given twice"));
  // A value more belongs to no flag, and without one it is still missing.
  EXPECT_THAT(error_of({"-c", "h", "-i", "0", "1"}), HasSubstr("\"1\""));
  EXPECT_THAT(error_of({"-c", "h", "-i", "0", "-i"}), HasSubstr("-i/--interval needs a value"));
}

TEST(Flags, TheManualPageHasThemAll) {
  const std::string page = manual_page();
  for (const Flag& flag : flags()) {
    std::string name(flag.long_name);
    for (std::size_t at = 0; (at = name.find('-', at)) != std::string::npos; at += 2) {
      name.insert(at, 1, '\\');
    }
    EXPECT_THAT(page, HasSubstr("\\-\\-" + name));
  }
  EXPECT_THAT(page, testing::StartsWith(".TH LONGHAUL\\-PERF 1"));
  EXPECT_THAT(page, HasSubstr("\\-\\-help"));
  EXPECT_THAT(page, HasSubstr("\\-\\-version"));
  EXPECT_THAT(page, HasSubstr(".SH EXIT STATUS\n.nf\n0 the test completed"));
  // No text of the table may be taken for a request.
  EXPECT_THAT(page, testing::Not(HasSubstr("\n'")));
}

TEST(Flags, NoNameIsUsedTwice) {
  std::set<std::string_view> long_names;
  std::set<char> short_names;
  for (const Flag& flag : flags()) {
    EXPECT_TRUE(long_names.insert(flag.long_name).second) << flag.long_name;
    if (flag.short_name != '\0') {
      EXPECT_TRUE(short_names.insert(flag.short_name).second) << flag.short_name;
    }
    if (!flag.alias.empty()) {
      EXPECT_TRUE(long_names.insert(flag.alias).second) << flag.alias;
    }
    EXPECT_FALSE(flag.help.empty());
  }
  for (const ForeignFlag& flag : foreign_flags()) {
    EXPECT_TRUE(long_names.insert(flag.long_name.substr(2)).second) << flag.long_name;
    if (!flag.short_name.empty()) {
      EXPECT_TRUE(short_names.insert(flag.short_name[1]).second) << flag.short_name;
    }
  }
}

TEST(Flags, HelpNamesEveryFlag) {
  const std::string help = help_text();
  for (const Flag& flag : flags()) {
    EXPECT_THAT(help, HasSubstr("--" + std::string(flag.long_name)));
  }
  EXPECT_THAT(help, HasSubstr("Examples"));
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Plan, AStreamIsSixtyFourMebibytesForTenSeconds) {
  const TestPlan plan = plan_stream(options_of({"-c", "h"}), 1).value();
  EXPECT_EQ(plan.bytes, 64u << 20);
  EXPECT_EQ(plan.dtype, Dtype::u8);
  EXPECT_EQ(plan.time, 10s);
  EXPECT_EQ(plan.transfers, 0u);
  EXPECT_TRUE(check_plan(plan));
}

TEST(Plan, BytesBecomeWholeTransfers) {
  const TestPlan plan =
      plan_stream(options_of({"-c", "h", "-n", "100M", "--size", "64M"}), 1).value();
  EXPECT_EQ(plan.transfers, 2u);
  EXPECT_EQ(plan.time.count(), 0);
  EXPECT_TRUE(check_plan(plan));
  EXPECT_FALSE(plan_stream(options_of({"-c", "h", "-n", "1M", "--size", "0"}), 1));
  EXPECT_TRUE(plan_stream(options_of({"-c", "h", "-n", "3", "--size", "0"}), 1));
  for (const char* flag : {"-l0", "--shape=0x4"}) {
    const auto empty = plan_stream(options_of({"-c", "h", flag}), 1);
    ASSERT_FALSE(empty) << flag;
    EXPECT_THAT(empty.error().context, HasSubstr("0 bytes move nothing"));
  }
}

TEST(Plan, ShapeAndDtypeMakeTheSize) {
  const TestPlan plan =
      plan_stream(options_of({"-c", "h", "--shape", "16x3", "--dtype", "f64"}), 1).value();
  EXPECT_EQ(plan.bytes, 16u * 3 * 8);
  EXPECT_FALSE(plan_stream(options_of({"-c", "h", "--size", "7", "--dtype", "f32"}), 1));
  EXPECT_FALSE(plan_stream(
      options_of({"-c", "h", "--shape", "4294967296x4294967296", "--dtype", "f32"}), 1));
}

}  // namespace
}  // namespace longhaul::apps::perf
