// SPDX-License-Identifier: Apache-2.0
// Endpoints on loopback for the tests of the C interface. Only its header here.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "longhaul/longhaul.h"

namespace longhaul::tests {

/// Long enough for a busy machine, short enough to end a hanging test.
inline constexpr std::int64_t kPatience = 20'000'000'000;

/// A struct with its defaults.
template <typename T>
T initial(longhaul_code (*init)(T*, std::size_t)) {
  T value;
  EXPECT_EQ(init(&value, sizeof value), LONGHAUL_OK);
  return value;
}

/// An output struct that says its size.
template <typename T>
T sized() {
  T value{};
  value.struct_size = sizeof value;
  return value;
}

inline longhaul_address loopback(std::uint16_t port = 0) {
  auto address = sized<longhaul_address>();
  EXPECT_EQ(longhaul_address_parse("127.0.0.1", port, &address, nullptr), LONGHAUL_OK);
  return address;
}

inline longhaul_endpoint_config test_config(const longhaul_address* local) {
  auto config = initial(longhaul_endpoint_config_init);
  config.security = "none";
  config.local = local;
  return config;
}

inline longhaul_const_tensor bytes_of(const std::vector<std::uint8_t>& data,
                                      const std::uint64_t& extent) {
  auto tensor = initial(longhaul_const_tensor_init);
  tensor.data = data.data();
  tensor.bytes = data.size();
  tensor.extents = &extent;
  tensor.dimensions = 1;
  return tensor;
}

inline longhaul_tensor bytes_of(std::vector<std::uint8_t>& data, const std::uint64_t& extent) {
  auto tensor = initial(longhaul_tensor_init);
  tensor.data = data.data();
  tensor.bytes = data.size();
  tensor.extents = &extent;
  tensor.dimensions = 1;
  return tensor;
}

/// A connected client and server in this process.
class CPair : public ::testing::Test {
 protected:
  void TearDown() override {
    longhaul_connection_release(&to_client_);
    longhaul_connection_release(&to_server_);
    longhaul_endpoint_release(&client_);
    longhaul_endpoint_release(&server_);
  }

  /// To be called first in a test, with changes to the client's configuration.
  void connect(const std::function<void(longhaul_endpoint_config&)>& change = {}) {
    const longhaul_address local = loopback();
    auto config = test_config(&local);
    ASSERT_EQ(longhaul_endpoint_open(&config, &server_, &error_), LONGHAUL_OK) << error_.message;
    if (change) change(config);
    ASSERT_EQ(longhaul_endpoint_open(&config, &client_, &error_), LONGHAUL_OK) << error_.message;
    ASSERT_EQ(longhaul_endpoint_listen(server_, &error_), LONGHAUL_OK) << error_.message;
    auto address = sized<longhaul_address>();
    ASSERT_EQ(longhaul_endpoint_local_address(server_, &address, &error_), LONGHAUL_OK);
    ASSERT_EQ(longhaul_endpoint_connect(client_, &address, nullptr, &to_server_, &error_),
              LONGHAUL_OK)
        << error_.message;
    ASSERT_EQ(longhaul_endpoint_accept(server_, kPatience, &to_client_, &error_), LONGHAUL_OK)
        << error_.message;
  }

  /// Posts a receive of `data` at the server.
  longhaul_transfer* receive(std::uint64_t tag, std::vector<std::uint8_t>& data) {
    const std::uint64_t extent = data.size();
    const auto tensor = bytes_of(data, extent);
    longhaul_transfer* transfer = nullptr;
    EXPECT_EQ(
        longhaul_connection_recv_tensor(to_client_, tag, &tensor, nullptr, &transfer, &error_),
        LONGHAUL_OK)
        << error_.message;
    return transfer;
  }
  /// Sends `data` from the client.
  longhaul_transfer* send(std::uint64_t tag, const std::vector<std::uint8_t>& data,
                          const longhaul_send_options* options = nullptr) {
    const std::uint64_t extent = data.size();
    const auto tensor = bytes_of(data, extent);
    longhaul_transfer* transfer = nullptr;
    EXPECT_EQ(
        longhaul_connection_send_tensor(to_server_, tag, &tensor, options, &transfer, &error_),
        LONGHAUL_OK)
        << error_.message;
    return transfer;
  }
  /// Waits, releases the handle, and returns the status.
  longhaul_status end_of(longhaul_transfer* transfer) {
    longhaul_status status = -1;
    EXPECT_EQ(longhaul_transfer_wait(transfer, kPatience, &status, &error_), LONGHAUL_OK)
        << error_.message;
    longhaul_transfer_release(&transfer);
    return status;
  }
  bool message_says(std::string_view words) const {
    return std::string_view(error_.message).find(words) != std::string_view::npos;
  }

  longhaul_error error_ = sized<longhaul_error>();
  longhaul_endpoint* server_ = nullptr;
  longhaul_endpoint* client_ = nullptr;
  longhaul_connection* to_server_ = nullptr;
  longhaul_connection* to_client_ = nullptr;
};

}  // namespace longhaul::tests
