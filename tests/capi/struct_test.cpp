// SPDX-License-Identifier: Apache-2.0
// Structs of sizes other than today's: smaller ones of older programs, larger ones of newer.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>

#include "tests/capi/fixture.hpp"

namespace longhaul::tests {
namespace {

class Structs : public CPair {};

// A struct as a newer header might have it.
template <typename T>
struct Newer {
  T known;
  std::array<std::uint8_t, 16> unknown;
};

TEST_F(Structs, an_older_configuration_gets_the_defaults_of_what_it_does_not_know) {
  const longhaul_address local = loopback();
  auto config = test_config(&local);
  // Older than the seed and all behind it, which is therefore never read.
  config.struct_size = offsetof(longhaul_endpoint_config, seed);
  config.inject = reinterpret_cast<const longhaul_faults*>(1);
  config.log = reinterpret_cast<longhaul_log_sink>(1);
  config.stateless_reset_key = reinterpret_cast<const void*>(1);
  ASSERT_EQ(longhaul_endpoint_open(&config, &server_, &error_), LONGHAUL_OK) << error_.message;
  ASSERT_EQ(longhaul_endpoint_listen(server_, &error_), LONGHAUL_OK);
}

TEST_F(Structs, an_older_configuration_still_has_its_own_members_checked) {
  const longhaul_address local = loopback();
  auto config = test_config(&local);
  config.mtu_base = 10;
  config.struct_size = offsetof(longhaul_endpoint_config, peer_timeout_ns);
  EXPECT_EQ(longhaul_endpoint_open(&config, &server_, &error_), LONGHAUL_INVALID_ARGUMENT);
  EXPECT_TRUE(message_says("mtu_base")) << error_.message;
}

TEST_F(Structs, older_options_and_tensors_get_defaults) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::vector<std::uint8_t> source(1, 7);
  std::vector<std::uint8_t> target(1);
  auto options = initial(longhaul_send_options_init);
  options.struct_size = offsetof(longhaul_send_options, reliability);
  options.reliability = 99;
  options.loss_budget = 99;
  options.deadline_ns = -99;
  longhaul_transfer* const receiving = receive(1, target);
  // Without extents it is a scalar, and region, kind and device do not exist yet.
  auto scalar = initial(longhaul_const_tensor_init);
  scalar.struct_size = offsetof(longhaul_const_tensor, extents);
  scalar.data = source.data();
  scalar.bytes = 1;
  scalar.dimensions = 9;
  scalar.kind = 9;
  scalar.region = 9;
  longhaul_transfer* sending = nullptr;
  ASSERT_EQ(longhaul_connection_send_tensor(to_server_, 1, &scalar, &options, &sending, &error_),
            LONGHAUL_OK)
      << error_.message;
  EXPECT_EQ(end_of(sending), LONGHAUL_STATUS_REFUSED) << "a scalar meets a vector of one element";
  EXPECT_EQ(end_of(receiving), LONGHAUL_STATUS_REFUSED);
  longhaul_transfer* const second = receive(2, target);
  EXPECT_EQ(end_of(send(2, source, &options)), LONGHAUL_STATUS_COMPLETED);
  EXPECT_EQ(end_of(second), LONGHAUL_STATUS_COMPLETED);
  EXPECT_EQ(target, source);
}

TEST_F(Structs, a_newer_struct_is_taken_while_what_we_do_not_know_is_zero) {
  const longhaul_address local = loopback();
  Newer<longhaul_endpoint_config> config{test_config(&local), {}};
  config.known.struct_size = sizeof config;
  EXPECT_EQ(longhaul_endpoint_open(&config.known, &server_, &error_), LONGHAUL_OK)
      << error_.message;
}

TEST_F(Structs, a_newer_struct_that_says_what_we_do_not_know_is_refused) {
  const longhaul_address local = loopback();
  Newer<longhaul_endpoint_config> config{test_config(&local), {}};
  config.known.struct_size = sizeof config;
  config.unknown[9] = 1;
  EXPECT_EQ(longhaul_endpoint_open(&config.known, &server_, &error_), LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(server_, nullptr);
  EXPECT_TRUE(message_says("longhaul_endpoint_config")) << error_.message;
  EXPECT_TRUE(message_says(std::to_string(sizeof(longhaul_endpoint_config) + 9)));
  EXPECT_TRUE(message_says("newer liblonghaul"));
}

TEST_F(Structs, sizes_that_no_struct_has_are_refused) {
  const longhaul_address local = loopback();
  for (const std::uint32_t size : {0U, 4U, 13U, 4104U, 0xccccccc8U}) {
    auto config = test_config(&local);
    config.struct_size = size;
    EXPECT_EQ(longhaul_endpoint_open(&config, &server_, &error_), LONGHAUL_INVALID_ARGUMENT);
    EXPECT_TRUE(message_says("struct_size")) << error_.message;
    EXPECT_TRUE(message_says(std::to_string(size))) << error_.message;
    longhaul_send_options options;
    EXPECT_EQ(longhaul_send_options_init(&options, size), LONGHAUL_INVALID_ARGUMENT) << size;
    auto address = loopback();
    address.struct_size = size;
    EXPECT_EQ(longhaul_resolve("127.0.0.1", 1, &address, &error_), LONGHAUL_INVALID_ARGUMENT);
  }
}

TEST_F(Structs, nested_structs_obey_the_same_rules) {
  auto local = loopback();
  auto config = test_config(&local);
  local.struct_size = 0;
  EXPECT_EQ(longhaul_endpoint_open(&config, &server_, &error_), LONGHAUL_INVALID_ARGUMENT);
  EXPECT_TRUE(message_says("longhaul_address")) << error_.message;
  local = loopback();
  auto faults = initial(longhaul_faults_init);
  faults.struct_size = 3;
  config.inject = &faults;
  EXPECT_EQ(longhaul_endpoint_open(&config, &server_, &error_), LONGHAUL_INVALID_ARGUMENT);
  EXPECT_TRUE(message_says("longhaul_faults")) << error_.message;
  // An older program's address ends before the port.
  config.inject = nullptr;
  local.port = 1;
  local.struct_size = offsetof(longhaul_address, port);
  EXPECT_EQ(longhaul_endpoint_open(&config, &server_, &error_), LONGHAUL_OK) << error_.message;
}

TEST_F(Structs, outputs_are_written_as_far_as_their_size) {
  std::array<unsigned char, sizeof(longhaul_address) + 16> memory{};
  memory.fill(0xEE);
  const std::uint32_t size = offsetof(longhaul_address, port);
  std::memcpy(memory.data(), &size, sizeof size);
  auto* const address = reinterpret_cast<longhaul_address*>(memory.data());
  ASSERT_EQ(longhaul_address_parse("127.0.0.1", 80, address, &error_), LONGHAUL_OK);
  EXPECT_EQ(address->family, LONGHAUL_IPV4);
  EXPECT_EQ(address->bytes[0], 127);
  EXPECT_EQ(address->struct_size, size) << "the caller's size stays";
  for (std::size_t i = size; i < memory.size(); ++i) ASSERT_EQ(memory[i], 0xEE) << i;
}

TEST_F(Structs, what_only_a_newer_program_knows_is_zero_in_outputs) {
  ASSERT_NO_FATAL_FAILURE(connect());
  Newer<longhaul_endpoint_stats> stats{};
  stats.unknown.fill(0xEE);
  stats.known.struct_size = sizeof stats;
  ASSERT_EQ(longhaul_endpoint_stats_get(server_, kPatience, &stats.known, &error_), LONGHAUL_OK);
  EXPECT_EQ(stats.known.connections, 1U);
  EXPECT_EQ(std::count(stats.unknown.begin(), stats.unknown.end(), 0), 16);
}

TEST_F(Structs, a_smaller_error_is_written_as_far_as_its_size_and_ends_with_a_nul) {
  std::array<char, sizeof(longhaul_error)> memory{};
  memory.fill('x');
  const std::uint32_t size = offsetof(longhaul_error, message) + 16;
  std::memcpy(memory.data(), &size, sizeof size);
  auto* const error = reinterpret_cast<longhaul_error*>(memory.data());
  EXPECT_EQ(longhaul_endpoint_listen(nullptr, error), LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(error->code, LONGHAUL_INVALID_ARGUMENT);
  EXPECT_STREQ(error->message, "the endpoint ha");
  EXPECT_EQ(memory[size], 'x');
  const std::uint32_t code_only = 8;
  memory.fill('x');
  std::memcpy(memory.data(), &code_only, sizeof code_only);
  EXPECT_EQ(longhaul_endpoint_listen(nullptr, error), LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(error->code, LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(memory[code_only], 'x');
}

TEST_F(Structs, an_error_without_a_size_stops_the_call_before_it_does_anything) {
  const longhaul_address local = loopback();
  const auto config = test_config(&local);
  longhaul_error error{};
  EXPECT_EQ(longhaul_endpoint_open(&config, &server_, &error), LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(server_, nullptr);
  EXPECT_EQ(error.code, 0) << "not even the error is written";
}

TEST_F(Structs, long_messages_are_cut_between_characters) {
  std::string name;
  for (int i = 0; i < 200; ++i) name += "é";
  const longhaul_address local = loopback();
  auto config = test_config(&local);
  config.controller = name.c_str();
  EXPECT_EQ(longhaul_endpoint_open(&config, &server_, &error_), LONGHAUL_INVALID_ARGUMENT);
  const std::string_view message = error_.message;
  EXPECT_GE(message.size(), 254U);
  EXPECT_LE(message.size(), 255U);
  EXPECT_EQ(message.substr(message.size() - 2), "é");
}

TEST_F(Structs, reserved_members_have_to_be_zero) {
  auto local = loopback();
  auto config = test_config(&local);
  auto faults = initial(longhaul_faults_init);
  faults.reserved = 1;
  config.inject = &faults;
  EXPECT_EQ(longhaul_endpoint_open(&config, &server_, &error_), LONGHAUL_INVALID_ARGUMENT);
  EXPECT_TRUE(message_says("reserved")) << error_.message;
  config.inject = nullptr;
  local.reserved = 1;
  EXPECT_EQ(longhaul_endpoint_open(&config, &server_, &error_), LONGHAUL_INVALID_ARGUMENT);
}

TEST_F(Structs, elements_of_lists_stand_the_first_ones_size_apart) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::vector<std::uint8_t> data(64);
  const std::uint64_t extent = 32;
  std::array<Newer<longhaul_const_tensor>, 2> list{};
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i].known = initial(longhaul_const_tensor_init);
    list[i].known.data = data.data() + 32 * i;
    list[i].known.bytes = extent;
    list[i].known.extents = &extent;
    list[i].known.dimensions = 1;
    list[i].known.struct_size = sizeof list[i];
    data[32 * i] = static_cast<std::uint8_t>(i + 1);
  }
  std::vector<std::uint8_t> target(64);
  const std::array<std::uint64_t, 1> half{32};
  std::array<longhaul_tensor, 2> into{initial(longhaul_tensor_init), initial(longhaul_tensor_init)};
  for (std::size_t i = 0; i < into.size(); ++i) {
    into[i].data = target.data() + 32 * i;
    into[i].bytes = 32;
    into[i].extents = half.data();
    into[i].dimensions = 1;
  }
  longhaul_transfer* receiving = nullptr;
  ASSERT_EQ(
      longhaul_connection_recv_tensors(to_client_, 1, into.data(), 2, nullptr, &receiving, &error_),
      LONGHAUL_OK)
      << error_.message;
  ASSERT_EQ(
      longhaul_connection_send_tensors(to_server_, 1, &list[0].known, 2, nullptr, nullptr, &error_),
      LONGHAUL_OK)
      << error_.message;
  EXPECT_EQ(end_of(receiving), LONGHAUL_STATUS_COMPLETED);
  EXPECT_EQ(target, data);
  list[1].known.struct_size -= 8;
  EXPECT_EQ(
      longhaul_connection_send_tensors(to_server_, 1, &list[0].known, 2, nullptr, nullptr, &error_),
      LONGHAUL_INVALID_ARGUMENT);
  EXPECT_TRUE(message_says("tensor 1")) << error_.message;
}

TEST_F(Structs, completions_of_an_older_size_are_written_side_by_side) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::vector<std::uint8_t> target(10);
  for (std::uint64_t tag = 1; tag <= 3; ++tag) {
    longhaul_transfer* receiving = receive(tag, target);
    longhaul_transfer_cancel(receiving, nullptr);
    ASSERT_EQ(end_of(receiving), LONGHAUL_STATUS_CANCELLED);
  }
  constexpr std::uint32_t kSize = offsetof(longhaul_completion, connection_id);
  std::array<unsigned char, 8 * kSize> memory{};
  memory.fill(0xEE);
  std::size_t count = 0;
  // A completion follows its status, so the last one may be a moment late.
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kPatience);
  while (count < 4 && std::chrono::steady_clock::now() < until) {
    std::memcpy(memory.data() + count * kSize, &kSize, sizeof kSize);
    auto* const out = reinterpret_cast<longhaul_completion*>(memory.data() + count * kSize);
    std::size_t taken = 0;
    ASSERT_EQ(longhaul_endpoint_poll(server_, out, 4 - count, &taken, &error_), LONGHAUL_OK);
    count += taken;
  }
  ASSERT_EQ(count, 4U) << "the connection that came in, and three transfers";
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t head[3];
    std::memcpy(head, memory.data() + i * kSize, sizeof head);
    EXPECT_EQ(head[0], kSize);
    if (i == 0) {
      EXPECT_EQ(head[1], static_cast<std::uint32_t>(LONGHAUL_INCOMING));
      continue;
    }
    EXPECT_EQ(head[1], static_cast<std::uint32_t>(LONGHAUL_TRANSFER_ENDED));
    EXPECT_EQ(head[2], static_cast<std::uint32_t>(LONGHAUL_STATUS_CANCELLED));
    std::uint64_t id = 0;
    std::memcpy(&id, memory.data() + i * kSize + offsetof(longhaul_completion, transfer_id), 8);
    EXPECT_GT(id, before);
    before = id;
  }
  EXPECT_EQ(memory[count * kSize], 0xEE);
}

}  // namespace
}  // namespace longhaul::tests
