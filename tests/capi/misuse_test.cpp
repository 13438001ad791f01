// SPDX-License-Identifier: Apache-2.0
// Calls from the wrong state or a forked child, and values no call accepts.
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "tests/capi/fixture.hpp"

namespace longhaul::tests {
namespace {

class Misuse : public CPair {
 protected:
  void refuse_config(const std::function<void(longhaul_endpoint_config&)>& change,
                     std::string_view words, longhaul_code code = LONGHAUL_INVALID_ARGUMENT) {
    const longhaul_address local = loopback();
    auto config = test_config(&local);
    change(config);
    EXPECT_EQ(longhaul_endpoint_open(&config, &server_, &error_), code) << words;
    EXPECT_EQ(server_, nullptr);
    EXPECT_TRUE(message_says(words)) << error_.message;
  }
  void refuse_send(
      const std::function<void(longhaul_const_tensor&, longhaul_send_options&)>& change,
      std::string_view words, longhaul_code code = LONGHAUL_INVALID_ARGUMENT) {
    const std::uint64_t extent = data_.size();
    auto tensor = bytes_of(std::as_const(data_), extent);
    auto options = initial(longhaul_send_options_init);
    change(tensor, options);
    auto* transfer = reinterpret_cast<longhaul_transfer*>(this);
    EXPECT_EQ(longhaul_connection_send_tensor(to_server_, 1, &tensor, &options, &transfer, &error_),
              code)
        << words;
    EXPECT_EQ(transfer, nullptr) << "a call that fails leaves no handle";
    EXPECT_TRUE(message_says(words)) << error_.message;
  }

  std::vector<std::uint8_t> data_ = std::vector<std::uint8_t>(16);
};

TEST_F(Misuse, configurations_that_mean_nothing_are_refused_with_the_remedy) {
  refuse_config([](auto& config) { config.security = nullptr; }, "config.security = \"none\"");
  refuse_config([](auto& config) { config.security = nullptr; }, "config.psk_file = \"FILE\"");
  refuse_config([](auto& config) { config.security = "psk"; }, "psk_file");
  refuse_config([](auto& config) { config.security = "tls"; }, "psk, certificates, none");
  refuse_config([](auto& config) { config.psk_file = "/k"; }, "psk_file is set");
  refuse_config([](auto& config) { config.psk = "longhaul-psk-1 a b"; }, "psk is set");
  refuse_config([](auto& config) { config.ca_file = "/ca.pem"; }, "ca_file is set");
  refuse_config([](auto& config) { config.peer_fingerprints_count = 2; }, "NULL, but there are 2");
  const char* const nothing = nullptr;
  refuse_config(
      [&](auto& config) {
        config.peer_fingerprints = &nothing;
        config.peer_fingerprints_count = 1;
      },
      "peer_fingerprints[0] is NULL");
  refuse_config([](auto& config) { config.connections_max = (1u << 31) + 1; },
                "connections_max is 2147483649, but has to be from 1 to 16777216");
  refuse_config([](auto& config) { config.connections_max = 0; }, "connections_max is 0");
  refuse_config([](auto& config) { config.handshakes_max_per_source = 0; },
                "handshakes_max_per_source");
  refuse_config([](auto& config) { config.backend = "pigeon"; }, "pigeon", LONGHAUL_UNSUPPORTED);
  refuse_config([](auto& config) { config.controller = "reno"; }, "cubic");
  refuse_config([](auto& config) { config.threads = 256; }, "256");
  refuse_config([](auto& config) { config.validate_addresses = 2; }, "validate_addresses is 2");
  refuse_config([](auto& config) { config.use_seed = 7; }, "use_seed is 7");
  refuse_config([](auto& config) { config.worker_cpu = -2; }, "worker_cpu is -2");
  refuse_config([](auto& config) { config.worker_cpu = 1000; }, "worker_cpu 1000");
  refuse_config([](auto& config) { config.peer_timeout_ns = 0; }, "peer_timeout");
  refuse_config([](auto& config) { config.stateless_reset_key_bytes = 9; },
                "stateless_reset_key is NULL, but its length is 9");
  refuse_config([](auto& config) { config.stateless_reset_key = "0123456789abcdef"; },
                "stateless_reset_key is set, but its length is 0");
  refuse_config(
      [](auto& config) {
        config.stateless_reset_key = "0123456789abcde";
        config.stateless_reset_key_bytes = 15;
      },
      "stateless_reset_key has 15 bytes");
  refuse_config([](auto& config) { config.dscp[2] = 64; }, "DSCP 64");
  auto faults = initial(longhaul_faults_init);
  faults.loss = 2;
  refuse_config([&](auto& config) { config.inject = &faults; }, "probability");
  auto address = loopback();
  address.family = 2;
  refuse_config([&](auto& config) { config.local = &address; }, "family is 2");
}

TEST_F(Misuse, keys_are_made_whole_or_not_at_all) {
  std::array<char, LONGHAUL_KEY_TEXT_MAX> text{};
  ASSERT_EQ(longhaul_generate_key("lab", text.data(), text.size(), &error_), LONGHAUL_OK);
  const std::string_view key = text.data();
  EXPECT_NE(key.find("\nlonghaul-psk-1 lab "), std::string_view::npos) << key;
  for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}, key.size()}) {
    std::array<char, LONGHAUL_KEY_TEXT_MAX> small{};
    EXPECT_EQ(longhaul_generate_key("lab", small.data(), capacity, &error_),
              LONGHAUL_INVALID_ARGUMENT);
    EXPECT_TRUE(message_says("LONGHAUL_KEY_TEXT_MAX")) << error_.message;
    EXPECT_EQ(small[0], '\0') << "a part of a key is none";
  }
  EXPECT_EQ(longhaul_generate_key("lab", nullptr, 100, &error_), LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(longhaul_generate_key(nullptr, text.data(), text.size(), &error_),
            LONGHAUL_INVALID_ARGUMENT);
  EXPECT_TRUE(message_says("identity is NULL")) << error_.message;
  EXPECT_EQ(longhaul_generate_key("a b", text.data(), text.size(), &error_),
            LONGHAUL_INVALID_ARGUMENT);
}

TEST_F(Misuse, a_key_that_is_none_is_refused_without_being_repeated) {
  constexpr const char* kNone = "longhaul-psk-1 lab 0123456789abcdef";
  const auto set = [&](auto& config) {
    config.security = nullptr;
    config.psk = kNone;
  };
  refuse_config(set, "psk: ");
  EXPECT_FALSE(message_says("0123456789abcdef")) << error_.message;
}

TEST_F(Misuse, a_taken_port_comes_with_the_error_of_the_system) {
  ASSERT_NO_FATAL_FAILURE(connect());
  auto address = sized<longhaul_address>();
  ASSERT_EQ(longhaul_endpoint_local_address(server_, &address, &error_), LONGHAUL_OK);
  const auto config = test_config(&address);
  longhaul_endpoint* second = nullptr;
  EXPECT_EQ(longhaul_endpoint_open(&config, &second, &error_), LONGHAUL_ADDRESS_IN_USE);
  EXPECT_EQ(error_.os_error, EADDRINUSE);
  EXPECT_TRUE(message_says(std::to_string(address.port))) << error_.message;
}

TEST_F(Misuse, tensors_and_options_that_mean_nothing_are_refused) {
  ASSERT_NO_FATAL_FAILURE(connect());
  refuse_send([](auto& tensor, auto&) { tensor.dtype = 257; }, "no number 257");
  refuse_send([](auto& tensor, auto&) { tensor.dtype = 0; }, "no number 0");
  refuse_send([](auto& tensor, auto&) { tensor.kind = 256; }, "no number 256");
  refuse_send([](auto& tensor, auto&) { tensor.kind = LONGHAUL_MEMORY_CUDA; }, "cuda",
              LONGHAUL_UNSUPPORTED);
  refuse_send([](auto& tensor, auto&) { tensor.extents = nullptr; }, "extents is NULL");
  refuse_send([](auto& tensor, auto&) { tensor.dimensions = 9; }, "dimensions");
  refuse_send([](auto& tensor, auto&) { tensor.bytes = 15; }, "15");
  refuse_send([](auto& tensor, auto&) { tensor.data = nullptr; }, "data is null");
  refuse_send([](auto& tensor, auto&) { tensor.region = 77; }, "region");
  refuse_send([](auto& tensor, auto&) { tensor.reserved = 1; }, "reserved");
  const std::int64_t stride = 2;
  refuse_send([&](auto& tensor, auto&) { tensor.strides = &stride; }, "contiguous",
              LONGHAUL_NOT_CONTIGUOUS);
  refuse_send([](auto&, auto& options) { options.traffic_class = 258; }, "no number 258");
  refuse_send([](auto&, auto& options) { options.traffic_class = LONGHAUL_CLASS_CONTROL; },
              "control");
  refuse_send([](auto&, auto& options) { options.reliability = -1; }, "no number -1");
  refuse_send([](auto&, auto& options) { options.growing = 2; }, "growing is 2");
  refuse_send([](auto&, auto& options) { options.deadline_ns = -1; }, "deadline");
  refuse_send([](auto&, auto& options) { options.loss_budget = 1; }, "loss_budget");
  std::size_t count = 0;
  auto completion = sized<longhaul_completion>();
  EXPECT_EQ(longhaul_endpoint_poll(client_, &completion, 1, &count, &error_), LONGHAUL_OK);
  EXPECT_EQ(count, 0U) << "nothing has begun";
}

TEST_F(Misuse, calls_in_the_wrong_state_say_so) {
  ASSERT_NO_FATAL_FAILURE(connect());
  longhaul_connection* connection = nullptr;
  EXPECT_EQ(longhaul_endpoint_accept(client_, kPatience, &connection, &error_),
            LONGHAUL_INVALID_ARGUMENT);
  EXPECT_TRUE(message_says("listen()")) << error_.message;
  EXPECT_EQ(longhaul_endpoint_accept(server_, 0, &connection, &error_), LONGHAUL_WOULD_BLOCK);
  EXPECT_EQ(longhaul_endpoint_accept(server_, 1'000'000, &connection, &error_), LONGHAUL_TIMED_OUT);
  EXPECT_EQ(longhaul_endpoint_listen(server_, &error_), LONGHAUL_OK) << "once is enough";
  auto remote = loopback();
  EXPECT_EQ(longhaul_endpoint_connect(client_, &remote, nullptr, &connection, &error_),
            LONGHAUL_INVALID_ARGUMENT);
  ASSERT_EQ(longhaul_address_parse("::1", 5201, &remote, &error_), LONGHAUL_OK);
  EXPECT_EQ(longhaul_endpoint_connect_async(client_, &remote, nullptr, &connection, &error_),
            LONGHAUL_WRONG_FAMILY);
  EXPECT_EQ(connection, nullptr);

  longhaul_transfer* receiving = receive(1, data_);
  EXPECT_EQ(longhaul_transfer_ready(receiving, 1, &error_), LONGHAUL_INVALID_ARGUMENT);
  EXPECT_TRUE(message_says("growing")) << error_.message;
  longhaul_status status = 77;
  EXPECT_EQ(longhaul_transfer_wait(receiving, 0, &status, &error_), LONGHAUL_TIMED_OUT);
  EXPECT_EQ(status, 77) << "untouched";
  EXPECT_EQ(longhaul_transfer_cancel(receiving, &error_), LONGHAUL_OK);
  EXPECT_EQ(end_of(receiving), LONGHAUL_STATUS_CANCELLED);

  int worked = 5;
  EXPECT_EQ(longhaul_endpoint_run_once(client_, &worked, &error_), LONGHAUL_OK);
  EXPECT_EQ(worked, 0) << "it has a thread of its own";
}

TEST_F(Misuse, memory_in_use_is_not_unregistered_and_no_region_twice) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::uint64_t region = 0;
  ASSERT_EQ(longhaul_endpoint_register_memory(server_, data_.data(), data_.size(),
                                              LONGHAUL_MEMORY_HOST, &region, &error_),
            LONGHAUL_OK);
  const std::uint64_t extent = data_.size();
  auto tensor = bytes_of(data_, extent);
  tensor.region = region;
  longhaul_transfer* receiving = nullptr;
  ASSERT_EQ(longhaul_connection_recv_tensor(to_client_, 1, &tensor, nullptr, &receiving, &error_),
            LONGHAUL_OK)
      << error_.message;
  EXPECT_EQ(longhaul_endpoint_unregister_memory(server_, region, &error_),
            LONGHAUL_INVALID_ARGUMENT);
  longhaul_transfer_cancel(receiving, nullptr);
  end_of(receiving);
  EXPECT_EQ(longhaul_endpoint_unregister_memory(server_, region, &error_), LONGHAUL_OK);
  EXPECT_EQ(longhaul_endpoint_unregister_memory(server_, region, &error_),
            LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(longhaul_endpoint_register_memory(server_, data_.data(), 1, LONGHAUL_MEMORY_ROCM,
                                              &region, &error_),
            LONGHAUL_UNSUPPORTED);
  EXPECT_EQ(longhaul_endpoint_register_memory(server_, nullptr, 1, LONGHAUL_MEMORY_HOST, &region,
                                              &error_),
            LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(region, 0U);
}

TEST_F(Misuse, names_and_sizes_of_numbers_that_are_none) {
  for (const std::int32_t number : {-1, 100, 256, 1 << 30}) {
    EXPECT_STREQ(longhaul_code_name(number), "unknown");
    EXPECT_STREQ(longhaul_status_name(number), "unknown");
    EXPECT_STREQ(longhaul_traffic_class_name(number), "unknown");
    EXPECT_STREQ(longhaul_reliability_name(number), "unknown");
    EXPECT_STREQ(longhaul_dtype_name(number), "unknown");
    EXPECT_EQ(longhaul_dtype_size(number), 0U);
  }
  EXPECT_STREQ(longhaul_dtype_name(0), "unknown");
  EXPECT_EQ(longhaul_drop_reason_name(1000), nullptr);
  longhaul_dtype dtype = 0;
  EXPECT_EQ(longhaul_dtype_parse("f4", &dtype, &error_), LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(longhaul_dtype_parse(nullptr, &dtype, &error_), LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(longhaul_dtype_parse("f32", nullptr, &error_), LONGHAUL_INVALID_ARGUMENT);
  auto address = sized<longhaul_address>();
  EXPECT_EQ(longhaul_address_parse(nullptr, 1, &address, &error_), LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(longhaul_address_parse("1.2.3.4", 1, nullptr, &error_), LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(longhaul_resolve("no-such-host.invalid", 1, &address, &error_), LONGHAUL_UNKNOWN_HOST);
  EXPECT_EQ(longhaul_resolve_family("127.0.0.1", 1, 77, &address, &error_),
            LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(longhaul_resolve_family("127.0.0.1", 1, LONGHAUL_IPV6, &address, &error_),
            LONGHAUL_WRONG_FAMILY);
  EXPECT_EQ(longhaul_resolve_family("127.0.0.1", 1, LONGHAUL_IPV4, &address, &error_), LONGHAUL_OK);
}

// What the handles of a forked child must answer; 0 if they do.
int check_in_child(longhaul_endpoint* server, longhaul_endpoint* client,
                   longhaul_connection* connection, longhaul_transfer* transfer) {
  std::vector<std::uint8_t> memory(4);
  const std::uint64_t extent = 4;
  const auto tensor = bytes_of(memory, extent);
  longhaul_error error = sized<longhaul_error>();
  const auto closed = [&error](longhaul_code code) {
    return code == LONGHAUL_CLOSED && error.code == code &&
           std::string_view(error.message).find("fork()") != std::string_view::npos;
  };
  if (longhaul_connection_status(connection) != LONGHAUL_STATUS_CLOSED) return 1;
  if (longhaul_transfer_status(transfer) != LONGHAUL_STATUS_CLOSED) return 2;
  if (!closed(longhaul_transfer_wait(transfer, -1, nullptr, &error))) return 3;
  if (!closed(longhaul_transfer_cancel(transfer, &error))) return 4;
  if (!closed(longhaul_connection_recv_tensor(connection, 1, &tensor, nullptr, nullptr, &error))) {
    return 5;
  }
  if (!closed(longhaul_connection_close(connection, nullptr, &error))) return 6;
  longhaul_connection* none = nullptr;
  if (!closed(longhaul_endpoint_accept(server, -1, &none, &error)) || none != nullptr) return 7;
  if (!closed(longhaul_endpoint_listen(server, &error))) return 8;
  auto stats = sized<longhaul_endpoint_stats>();
  if (!closed(longhaul_endpoint_stats_get(client, -1, &stats, &error))) return 9;
  std::uint64_t region = 0;
  if (!closed(longhaul_endpoint_register_memory(client, memory.data(), 4, 0, &region, &error))) {
    return 10;
  }
  std::size_t count = 9;
  auto completion = sized<longhaul_completion>();
  longhaul_endpoint_poll(client, &completion, 1, &count, &error);
  if (count != 0 || longhaul_endpoint_completion_fd(client) != -1) return 11;
  if (longhaul_endpoint_close(client, &error) != LONGHAUL_OK) return 12;
  longhaul_transfer_release(&transfer);
  longhaul_connection_release(&connection);
  longhaul_endpoint_release(&client);
  longhaul_endpoint_release(&server);
  return 0;
}

TEST_F(Misuse, a_forked_childs_handles_answer_closed_and_touch_nothing) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::vector<std::uint8_t> target(5000);
  longhaul_transfer* receiving = receive(7, target);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(check_in_child(server_, client_, to_server_, receiving));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the number of the check that failed";
  const std::vector<std::uint8_t> source(target.size(), 3);
  EXPECT_EQ(end_of(send(7, source)), LONGHAUL_STATUS_COMPLETED);
  EXPECT_EQ(end_of(receiving), LONGHAUL_STATUS_COMPLETED) << "the parent must not notice";
  EXPECT_EQ(target, source);
}

TEST_F(Misuse, a_callback_that_throws_does_no_harm) {
  ASSERT_NO_FATAL_FAILURE(connect([](auto& config) {
    config.log = [](void*, longhaul_log_level, const char*, std::size_t) { throw 1; };
  }));
  longhaul_transfer* receiving = receive(1, data_);
  const auto thrower = [](void*, const char*, std::size_t) { throw 1; };
  EXPECT_EQ(longhaul_endpoint_dump(server_, thrower, nullptr, kPatience, &error_),
            LONGHAUL_INTERNAL);
  longhaul_transfer_release(&receiving);
}

}  // namespace
}  // namespace longhaul::tests
