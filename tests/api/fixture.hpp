// SPDX-License-Identifier: Apache-2.0
// Endpoints on loopback for the tests of the public API. Only public headers here.
#pragma once

#include <gtest/gtest.h>
#include <cstdlib>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "longhaul/longhaul.hpp"

namespace longhaul::tests {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Long enough for a busy machine, short enough to end a hanging test.
inline constexpr Duration kPatience = seconds(20);

inline SocketAddress loopback(std::uint16_t port = 0) {
  return SocketAddress::parse("127.0.0.1", port).value();
}

inline EndpointConfig test_config() {
  EndpointConfig config;
  config.security = "none";
  config.local = loopback();
  // The whole suite runs once for each engine.
  if (const char* engine = std::getenv("LONGHAUL_TEST_ENGINE")) config.engine = engine;
  return config;
}

/// "refused: …" of a failed call, for messages of assertions.
template <typename T>
std::string why(const Result<T>& result) {
  return result ? "no error" : to_string(result.error());
}

/// Bytes that differ from one place to the next and from one seed to the next.
inline std::vector<std::uint8_t> pattern(std::size_t bytes, std::uint64_t seed = 1) {
  std::vector<std::uint8_t> data(bytes);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (std::uint8_t& byte : data) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    byte = static_cast<std::uint8_t>(state >> 56);
  }
  return data;
}

inline ConstTensorView view(const std::vector<std::uint8_t>& data) {
  return bytes_view(static_cast<const void*>(data.data()), data.size());
}
inline TensorView view(std::vector<std::uint8_t>& data) {
  return bytes_view(static_cast<void*>(data.data()), data.size());
}

/// A connected client and server in this process.
class PairTest : public ::testing::Test {
 protected:
  /// Opens and connects both; to be called first in a test, with changes to the configuration.
  void connect(const std::function<void(EndpointConfig&)>& change = {}) {
    EndpointConfig config = test_config();
    if (change) change(config);
    auto opened = Endpoint::open(config);
    ASSERT_TRUE(opened) << why(opened);
    server_ = std::move(*opened);
    opened = Endpoint::open(config);
    ASSERT_TRUE(opened) << why(opened);
    client_ = std::move(*opened);
    ASSERT_TRUE(server_.listen());
    auto connected = client_.connect(server_.local_address());
    ASSERT_TRUE(connected) << why(connected);
    to_server_ = *connected;
    auto accepted = server_.accept(kPatience);
    ASSERT_TRUE(accepted) << why(accepted);
    to_client_ = *accepted;
  }

  Endpoint server_;
  Endpoint client_;
  Connection to_server_;
  Connection to_client_;
};

/// The status a transfer ends with; `pending` (and a failure) if it does not end.
inline Status end_of(const Transfer& transfer) {
  const auto status = transfer.wait(kPatience);
  EXPECT_TRUE(status) << why(status);
  return status ? *status : Status::pending;
}

}  // namespace longhaul::tests
