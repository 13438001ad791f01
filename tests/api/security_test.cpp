// SPDX-License-Identifier: Apache-2.0
// Endpoints with keys, as an application sees them.
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "tests/api/fixture.hpp"

namespace longhaul::tests {
namespace {

// A refusal is told, not timed out.
constexpr Duration kPrompt = seconds(3);

class Security : public PairTest {
 protected:
  Security() {
    std::string name = std::filesystem::temp_directory_path() / "longhaul-security-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    key_ = generate_key("lab").value();
  }
  ~Security() override {
    // They log here until they are closed.
    client_.close();
    server_.close();
    std::filesystem::remove_all(folder_);
  }

  /// A configuration whose log is kept; without a key.
  EndpointConfig logged() {
    EndpointConfig config = test_config();
    config.security.clear();
    config.log = [this](LogLevel, std::string_view line) {
      const std::lock_guard lock(mutex_);
      (log_ += line) += '\n';
    };
    return config;
  }
  EndpointConfig with_text(const std::string& key) {
    EndpointConfig config = logged();
    config.psk = key;
    return config;
  }
  EndpointConfig with_file(const std::string& key) {
    EndpointConfig config = logged();
    config.psk_file = folder_ / "key";
    std::ofstream(config.psk_file) << key;
    ::chmod(config.psk_file.c_str(), 0600);
    return config;
  }
  void open(EndpointConfig server, EndpointConfig client) {
    auto opened = Endpoint::open(std::move(server));
    ASSERT_TRUE(opened) << why(opened);
    server_ = std::move(*opened);
    opened = Endpoint::open(std::move(client));
    ASSERT_TRUE(opened) << why(opened);
    client_ = std::move(*opened);
    ASSERT_TRUE(server_.listen());
  }
  void meet() {
    auto connected = client_.connect(server_.local_address());
    ASSERT_TRUE(connected) << why(connected);
    to_server_ = *connected;
    auto accepted = server_.accept(kPatience);
    ASSERT_TRUE(accepted) << why(accepted);
    to_client_ = *accepted;
  }
  void move_bytes(std::size_t bytes) {
    const auto source = pattern(bytes);
    std::vector<std::uint8_t> target(bytes);
    const auto receiving = to_client_.recv_tensor(1, view(target));
    const auto sending = to_server_.send_tensor(1, view(source));
    ASSERT_TRUE(receiving && sending);
    EXPECT_EQ(end_of(*sending), Status::completed);
    EXPECT_EQ(end_of(*receiving), Status::completed);
    EXPECT_EQ(source, target);
  }
  void expect_refused(ErrorCode code, std::string_view words) {
    const auto began = std::chrono::steady_clock::now();
    const auto connected = client_.connect(server_.local_address());
    EXPECT_LT(std::chrono::steady_clock::now() - began, kPrompt);
    ASSERT_FALSE(connected);
    EXPECT_EQ(connected.error().code, code) << why(connected);
    EXPECT_NE(connected.error().context.find(words), std::string::npos) << why(connected);
    EXPECT_EQ(server_.accept().error().code, ErrorCode::would_block) << "nobody was let in";
  }
  std::string log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  std::filesystem::path folder_;
  std::string key_;
  std::mutex mutex_;
  std::string log_;
};

TEST_F(Security, a_key_from_a_file_meets_the_same_as_text) {
  ASSERT_NO_FATAL_FAILURE(open(with_file(key_), with_text(key_)));
  ASSERT_NO_FATAL_FAILURE(meet());
  ASSERT_NO_FATAL_FAILURE(move_bytes(3'000'001));
  for (const Connection& end : {to_server_, to_client_}) {
    const auto stats = end.stats(kPatience);
    ASSERT_TRUE(stats) << why(stats);
    EXPECT_EQ(stats->peer_identity, "psk lab");
    EXPECT_TRUE(stats->cipher == "aes_128_gcm" || stats->cipher == "chacha20_poly1305")
        << stats->cipher;
  }
  EXPECT_EQ(log().find("security is none"), std::string::npos) << log();
}

TEST_F(Security, without_it_there_is_nobody_to_name) {
  EndpointConfig config = logged();
  config.security = "none";
  ASSERT_NO_FATAL_FAILURE(open(config, config));
  ASSERT_NO_FATAL_FAILURE(meet());
  const auto stats = to_server_.stats(kPatience);
  ASSERT_TRUE(stats) << why(stats);
  EXPECT_EQ(stats->peer_identity, "");
  EXPECT_EQ(stats->cipher, "");
  EXPECT_EQ(stats->key_updates, 0U);
}

TEST_F(Security, another_key_is_refused_at_once_and_the_right_one_taken_after_it) {
  ASSERT_NO_FATAL_FAILURE(open(with_text(key_), with_text(generate_key("lab").value())));
  expect_refused(ErrorCode::not_authenticated, "another key");
  auto right = Endpoint::open(with_text(key_));
  ASSERT_TRUE(right) << why(right);
  client_ = std::move(*right);
  ASSERT_NO_FATAL_FAILURE(meet());
  ASSERT_NO_FATAL_FAILURE(move_bytes(100));
}

TEST_F(Security, an_end_without_a_key_meets_no_end_with_one) {
  EndpointConfig none = logged();
  none.security = "none";
  ASSERT_NO_FATAL_FAILURE(open(with_text(key_), none));
  expect_refused(ErrorCode::refused, "asks for a key");
  ASSERT_NO_FATAL_FAILURE(open(none, with_text(key_)));
  expect_refused(ErrorCode::refused, "security none");
}

TEST_F(Security, a_refused_client_is_logged_with_the_reason) {
  ASSERT_NO_FATAL_FAILURE(open(with_text(key_), with_text(generate_key("garage").value())));
  expect_refused(ErrorCode::not_authenticated, "garage");
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (log().find("refused a client at 127.0.0.1") == std::string::npos &&
         std::chrono::steady_clock::now() < until) {
    ::usleep(10'000);
  }
  EXPECT_NE(log().find("the peer's key is called garage, ours lab"), std::string::npos) << log();
}

TEST_F(Security, a_caller_that_polls_gets_it_too) {
  EndpointConfig polled = with_text(key_);
  polled.threads = ThreadMode::caller_polls;
  polled.engine = "mmsg";
  ASSERT_NO_FATAL_FAILURE(open(with_text(key_), polled));
  ASSERT_NO_FATAL_FAILURE(meet());
  ASSERT_NO_FATAL_FAILURE(move_bytes(1'000'000));
}

TEST_F(Security, no_key_is_in_logs_dumps_errors_and_statistics) {
  ASSERT_NO_FATAL_FAILURE(open(with_file(key_), with_text(key_)));
  ASSERT_NO_FATAL_FAILURE(meet());
  std::vector<std::uint8_t> target(100);
  ASSERT_TRUE(to_client_.recv_tensor(1, view(target)));
  std::string said;
  for (const Endpoint* endpoint : {&server_, &client_}) {
    ASSERT_TRUE(endpoint->dump([&](std::string_view line) { said += line; }, kPatience));
  }
  const ConnectionStats stats = to_client_.stats(kPatience).value();
  said += stats.peer_identity + stats.cipher + stats.controller;
  EndpointConfig broken = logged();
  broken.psk = key_.substr(0, key_.size() - 3);
  said += why(Endpoint::open(broken));
  client_.close();
  server_.close();
  said += to_server_.reason() + to_client_.reason() + log();
  std::string digits = key_.substr(key_.find("lab ") + 4, 64);
  ASSERT_EQ(digits.find_first_not_of("0123456789abcdef"), std::string::npos);
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  ASSERT_GT(said.size(), 500U);
  // Parts of it too.
  for (const std::string& secret :
       {digits.substr(0, 16), digits.substr(20, 16), bytes.substr(0, 8), bytes.substr(20, 8)}) {
    EXPECT_EQ(said.find(secret), std::string::npos);
  }
}

}  // namespace
}  // namespace longhaul::tests
