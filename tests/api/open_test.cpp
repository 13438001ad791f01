// SPDX-License-Identifier: Apache-2.0
// Every error of open(): its code, and that the text names cause and remedy.
#include <sys/wait.h>
#include <unistd.h>

#include "tests/api/fixture.hpp"

namespace longhaul::tests {
namespace {

void expect_refused(const EndpointConfig& config, ErrorCode code,
                    std::initializer_list<std::string_view> words) {
  const auto endpoint = Endpoint::open(config);
  ASSERT_FALSE(endpoint);
  EXPECT_EQ(endpoint.error().code, code) << why(endpoint);
  for (const std::string_view word : words) {
    EXPECT_NE(endpoint.error().context.find(word), std::string::npos)
        << "no \"" << word << "\" in: " << endpoint.error().context;
  }
}

TEST(Open, gives_an_address_with_the_port_the_system_chose) {
  const auto endpoint = Endpoint::open(test_config());
  ASSERT_TRUE(endpoint) << why(endpoint);
  EXPECT_NE(endpoint->local_address().port, 0);
  EXPECT_EQ(endpoint->local_address(), loopback(endpoint->local_address().port));
}

TEST(Open, without_security_says_the_lines_that_fix_it) {
  EndpointConfig config = test_config();
  config.security.clear();
  expect_refused(config, ErrorCode::invalid_argument,
                 {"longhaul-perf --generate-key FILE", "config.psk_file = \"FILE\";",
                  "config.security = \"none\";"});
  config.security = "psk";
  expect_refused(config, ErrorCode::invalid_argument, {"psk_file"});
  config.handshakes_max_per_source = 0;
  config.security = "none";
  expect_refused(config, ErrorCode::invalid_argument, {"handshakes_max_per_source"});
}

TEST(Open, with_a_reset_key_that_can_be_guessed_is_refused) {
  EndpointConfig config = test_config();
  for (const std::size_t bytes : {1u, 15u}) {
    config.stateless_reset_key.assign(bytes, 'k');
    expect_refused(
        config, ErrorCode::invalid_argument,
        {"stateless_reset_key has " + std::to_string(bytes) + " bytes", "at least 16 random"});
  }
  config.stateless_reset_key.assign(16, 'k');
  const auto endpoint = Endpoint::open(config);
  EXPECT_TRUE(endpoint) << why(endpoint);
}

TEST(Open, a_key_is_made_taken_and_never_shown) {
  const auto key = generate_key("lab-7");
  ASSERT_TRUE(key) << why(key);
  EndpointConfig config = test_config();
  config.security.clear();
  config.psk = *key;
  std::string log;
  config.log = [&](LogLevel, std::string_view line) { (log += line) += '\n'; };
  const auto endpoint = Endpoint::open(config);
  ASSERT_TRUE(endpoint) << why(endpoint);
  EXPECT_NE(log.find("psk lab-7"), std::string::npos) << log;
  EXPECT_EQ(log.find("security is none"), std::string::npos) << log;
  const std::string digits = key->substr(key->find_last_of(' ') + 1, 64);
  EXPECT_EQ(digits.find_first_not_of("0123456789abcdef"), std::string::npos) << digits;
  EXPECT_EQ(log.find(digits), std::string::npos);
}

TEST(Open, keys_that_are_none_are_refused_without_being_repeated) {
  EndpointConfig config = test_config();
  config.security.clear();
  config.psk = "longhaul-psk-1 lab 0123456789abcdef";
  expect_refused(config, ErrorCode::invalid_argument, {"psk: "});
  const auto endpoint = Endpoint::open(config);
  EXPECT_EQ(why(endpoint).find("0123456789"), std::string::npos) << why(endpoint);
  config.psk.clear();
  config.psk_file = "/no/such/file";
  expect_refused(config, ErrorCode::invalid_argument, {"psk_file /no/such/file"});
  EXPECT_FALSE(generate_key("not a name"));
  EXPECT_FALSE(generate_key(""));
}

TEST(Open, warns_of_missing_security_and_prints_the_budget) {
  EndpointConfig config = test_config();
  std::vector<std::pair<LogLevel, std::string>> lines;
  config.log = [&](LogLevel level, std::string_view line) { lines.emplace_back(level, line); };
  {
    const auto endpoint = Endpoint::open(config);
    ASSERT_TRUE(endpoint);
  }
  bool warned = false;
  bool budget = false;
  for (const auto& [level, line] : lines) {
    EXPECT_EQ(line.find('\n'), std::string::npos);
    warned |= level == LogLevel::warning && line.find("security") != std::string::npos;
    budget |= level == LogLevel::info && line.rfind("budget: ", 0) == 0;
  }
  EXPECT_TRUE(warned);
  EXPECT_TRUE(budget);
}

TEST(Open, an_unknown_controller_is_refused_with_the_names_there_are) {
  EndpointConfig config = test_config();
  config.controller = "reno";
  expect_refused(config, ErrorCode::invalid_argument, {"reno", "cubic", "fixed"});
  config.controller = "fixed";
  expect_refused(config, ErrorCode::invalid_argument, {"rate_bps"});
}

TEST(Open, an_unknown_backend_is_refused_with_the_names_there_are) {
  EndpointConfig config = test_config();
  config.backend = "carrier_pigeon";
  expect_refused(config, ErrorCode::unsupported, {"carrier_pigeon", "kernel"});
}

TEST(Open, an_unknown_engine_is_refused_with_the_names_there_are) {
  EndpointConfig config = test_config();
  config.engine = "steam";
  expect_refused(config, ErrorCode::invalid_argument,
                 {"steam", "auto", "mmsg", "io_uring", "io_uring_zero_copy"});
  config.engine.clear();
  expect_refused(config, ErrorCode::invalid_argument, {"auto"});
}

TEST(Open, a_ring_is_refused_where_any_thread_may_poll) {
  EndpointConfig config = test_config();
  config.threads = ThreadMode::caller_polls;
  for (const std::string engine : {"io_uring", "io_uring_zero_copy"}) {
    config.engine = engine;
    expect_refused(config, ErrorCode::invalid_argument, {engine, "caller_polls", "mmsg"});
  }
  for (const std::string engine : {"auto", "mmsg"}) {
    config.engine = engine;
    auto endpoint = Endpoint::open(config);
    ASSERT_TRUE(endpoint) << why(endpoint);
    EXPECT_EQ(endpoint->stats().value().engine, "mmsg");
  }
}

TEST(Open, the_engine_asked_for_is_the_one_in_use_and_is_shown) {
  for (const std::string engine : {"mmsg", "io_uring", "io_uring_zero_copy"}) {
    EndpointConfig config = test_config();
    config.engine = engine;
    auto endpoint = Endpoint::open(config);
    ASSERT_TRUE(endpoint) << why(endpoint);
    EXPECT_EQ(endpoint->stats().value().engine, engine);
    std::vector<std::string> lines;
    ASSERT_TRUE(
        endpoint->dump([&](std::string_view line) { lines.emplace_back(line); }, kPatience));
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(lines[0], "backend kernel, engine " + engine);
  }
}

TEST(Open, automatically_the_log_says_once_which_engine_it_is_and_why) {
  std::vector<std::string> lines;
  EndpointConfig config = test_config();
  config.engine = "auto";
  config.log = [&](LogLevel level, std::string_view line) {
    if (level == LogLevel::info && line.rfind("engine ", 0) == 0) lines.emplace_back(line);
  };
  auto endpoint = Endpoint::open(config);
  ASSERT_TRUE(endpoint) << why(endpoint);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].rfind("engine " + endpoint->stats().value().engine + ", because ", 0), 0U)
      << lines[0];
}

TEST(Open, a_taken_port_is_named) {
  const auto first = Endpoint::open(test_config());
  ASSERT_TRUE(first);
  EndpointConfig config = test_config();
  config.local = first->local_address();
  expect_refused(config, ErrorCode::address_in_use, {std::to_string(config.local.port)});
}

TEST(Open, an_address_of_another_machine_is_refused) {
  EndpointConfig config = test_config();
  config.local = SocketAddress::parse("192.0.2.77", 0).value();
  const auto endpoint = Endpoint::open(config);
  ASSERT_FALSE(endpoint);
  EXPECT_NE(to_string(endpoint.error()).find("192.0.2.77"), std::string::npos) << why(endpoint);
}

TEST(Open, a_privileged_port_is_refused_to_an_ordinary_user) {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(77);
    EndpointConfig config = test_config();
    config.local.port = 1;
    const auto endpoint = Endpoint::open(config);
    _exit(!endpoint && endpoint.error().code == ErrorCode::no_permission ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "may not change the user (CAP_SETUID)";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Open, packet_sizes_that_cannot_work_are_refused) {
  EndpointConfig config = test_config();
  config.mtu_base = 1000;
  expect_refused(config, ErrorCode::invalid_argument, {"mtu_base", "1228"});
  config = test_config();
  config.mtu_max = 1200;
  expect_refused(config, ErrorCode::invalid_argument, {"mtu_max"});
  config.mtu_max = 70000;
  expect_refused(config, ErrorCode::invalid_argument, {"mtu_max"});
}

TEST(Open, times_that_cannot_work_are_refused) {
  EndpointConfig config = test_config();
  config.peer_timeout = Duration::zero();
  expect_refused(config, ErrorCode::invalid_argument, {"peer_timeout"});
  for (const Duration timeout : {Duration(1), Duration(milliseconds(4)), Duration::max()}) {
    config.peer_timeout = timeout;
    expect_refused(config, ErrorCode::invalid_argument, {"peer_timeout"});
  }
  config = test_config();
  config.heartbeat = config.peer_timeout;
  expect_refused(config, ErrorCode::invalid_argument, {"heartbeat"});
  config = test_config();
  config.rtt_max = Duration::zero();
  expect_refused(config, ErrorCode::invalid_argument, {"rtt_max"});
  config = test_config();
  config.connect_timeout = milliseconds(-1);
  expect_refused(config, ErrorCode::invalid_argument, {"connect_timeout"});
  config.connect_timeout = Duration::max();
  expect_refused(config, ErrorCode::invalid_argument, {"connect_timeout"});
}

TEST(Open, tables_that_cannot_work_are_refused) {
  EndpointConfig config = test_config();
  config.completions_max = 1000;
  expect_refused(config, ErrorCode::invalid_argument, {"completions_max", "1000", "power of two"});
  config = test_config();
  config.transfers_max = 0;
  expect_refused(config, ErrorCode::invalid_argument, {"transfers_max"});
  config = test_config();
  for (const std::uint32_t number : {0u, (1u << 24) + 1, 1u << 31, (1u << 31) + 1, ~0u}) {
    config.connections_max = number;
    expect_refused(config, ErrorCode::invalid_argument,
                   {"connections_max is " + std::to_string(number), "from 1 to 16777216"});
  }
  config = test_config();
  config.eager_budget = 10;
  expect_refused(config, ErrorCode::invalid_argument, {"eager_max", "eager_budget"});
  config = test_config();
  config.dscp.codepoints[1] = 64;
  expect_refused(config, ErrorCode::invalid_argument, {"DSCP 64"});
}

TEST(Open, a_pipe_that_packet_numbers_cannot_fill_is_refused_with_the_arithmetic) {
  EndpointConfig config = test_config();
  config.rate_bps = 10'000'000'000'000;
  config.rtt_max = seconds(10);
  expect_refused(config, ErrorCode::cannot_fill_pipe,
                 {"10000000000000 bit/s × 10000 ms / 8 = 12500000000000 bytes", "2^31"});
}

TEST(Open, faults_that_are_no_probabilities_are_refused) {
  EndpointConfig config = test_config();
  config.inject.loss = 1.5;
  expect_refused(config, ErrorCode::invalid_argument, {"probability"});
  config = test_config();
  config.inject.delay = milliseconds(-1);
  expect_refused(config, ErrorCode::invalid_argument, {"delay"});
}

TEST(Open, a_cpu_that_does_not_exist_is_refused) {
  EndpointConfig config = test_config();
  config.worker_cpu = 1000;
  expect_refused(config, ErrorCode::invalid_argument, {"worker_cpu 1000"});
  config.worker_cpu = 0;
  config.threads = ThreadMode::caller_polls;
  expect_refused(config, ErrorCode::invalid_argument, {"caller_polls"});
}

TEST(Resolve, numbers_and_names_and_what_is_neither) {
  EXPECT_EQ(resolve("127.0.0.1", 80).value(), loopback(80));
  const auto local = resolve("localhost", 80);
  ASSERT_TRUE(local) << why(local);
  EXPECT_EQ(local->port, 80);
  const auto nobody = resolve("no-such-host.invalid", 80);
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::unknown_host);
  EXPECT_NE(nobody.error().context.find("no-such-host.invalid"), std::string::npos);
  EXPECT_EQ(resolve("", 80).error().code, ErrorCode::unknown_host);
}

TEST(Version, is_a_number_with_two_dots) {
  const std::string_view text = version();
  EXPECT_EQ(std::count(text.begin(), text.end(), '.'), 2);
}

}  // namespace
}  // namespace longhaul::tests
