// SPDX-License-Identifier: Apache-2.0
// That what C says arrives behind the interface: options, modes and numbers that tour.c leaves out.
#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <stdexcept>
#include <thread>

#include "longhaul/longhaul.hpp"
#include "tests/capi/fixture.hpp"

namespace longhaul::tests {
namespace {

class Translation : public CPair {
 protected:
  static std::vector<std::uint8_t> pattern(std::size_t bytes) {
    std::vector<std::uint8_t> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(i * 167 >> 5);
    return data;
  }
};

TEST_F(Translation, best_effort_over_a_lossy_line_ends_with_a_map_of_what_arrived) {
  auto faults = initial(longhaul_faults_init);
  ASSERT_NO_FATAL_FAILURE(connect([&](auto& config) {
    faults.loss = 0.2;
    config.inject = &faults;
    config.use_seed = 1;
    config.seed = 11;
  }));
  const auto source = pattern(2 << 20);
  std::vector<std::uint8_t> target(source.size());
  auto options = initial(longhaul_send_options_init);
  options.reliability = LONGHAUL_BEST_EFFORT;
  longhaul_transfer* receiving = receive(1, target);
  EXPECT_EQ(end_of(send(1, source, &options)), LONGHAUL_STATUS_COMPLETED_PARTIAL);
  longhaul_status status = LONGHAUL_STATUS_PENDING;
  ASSERT_EQ(longhaul_transfer_wait(receiving, kPatience, &status, &error_), LONGHAUL_OK);
  ASSERT_EQ(status, LONGHAUL_STATUS_COMPLETED_PARTIAL);

  std::size_t count = 0;
  std::array<std::uint64_t, 4> first{};
  first.fill(7);
  ASSERT_EQ(longhaul_transfer_received_ranges(receiving, first.data(), 1, &count, &error_),
            LONGHAUL_OK);
  ASSERT_GT(count, 2U);
  EXPECT_EQ(first[2], 7U) << "no more than there is room for";
  std::vector<std::uint64_t> bounds(2 * count);
  ASSERT_EQ(longhaul_transfer_received_ranges(receiving, bounds.data(), count, &count, &error_),
            LONGHAUL_OK);
  EXPECT_EQ(bounds[1], first[1]);
  std::uint64_t arrived = 0;
  for (std::size_t i = 0; i < bounds.size(); i += 2) {
    ASSERT_LT(bounds[i], bounds[i + 1]);
    if (i > 0) {
      ASSERT_LT(bounds[i - 1], bounds[i]);
    }
    arrived += bounds[i + 1] - bounds[i];
    for (std::uint64_t at = bounds[i]; at < bounds[i + 1]; ++at) {
      ASSERT_EQ(target[at], source[at]) << at;
    }
  }
  EXPECT_GT(arrived, source.size() / 2);
  EXPECT_LT(arrived, source.size());
  longhaul_transfer_release(&receiving);
}

TEST_F(Translation, an_endpoint_without_threads_is_turned_by_the_caller) {
  ASSERT_NO_FATAL_FAILURE(connect());
  longhaul_endpoint_release(&client_);
  longhaul_connection_release(&to_server_);
  longhaul_connection_release(&to_client_);
  const longhaul_address local = loopback();
  auto config = test_config(&local);
  config.threads = LONGHAUL_CALLER_POLLS;
  ASSERT_EQ(longhaul_endpoint_open(&config, &client_, &error_), LONGHAUL_OK) << error_.message;
  auto address = sized<longhaul_address>();
  ASSERT_EQ(longhaul_endpoint_local_address(server_, &address, &error_), LONGHAUL_OK);
  ASSERT_EQ(longhaul_endpoint_connect(client_, &address, nullptr, &to_server_, &error_),
            LONGHAUL_OK)
      << "waiting calls turn it: " << error_.message;
  ASSERT_EQ(longhaul_endpoint_accept(server_, kPatience, &to_client_, &error_), LONGHAUL_OK);
  const auto source = pattern(300'000);
  std::vector<std::uint8_t> target(source.size());
  longhaul_transfer* receiving = receive(1, target);
  longhaul_transfer* sending = send(1, source);
  bool worked_once = false;
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kPatience);
  while (longhaul_transfer_status(sending) == LONGHAUL_STATUS_PENDING &&
         std::chrono::steady_clock::now() < until) {
    int worked = 0;
    ASSERT_EQ(longhaul_endpoint_run_once(client_, &worked, &error_), LONGHAUL_OK);
    worked_once |= worked == 1;
  }
  EXPECT_TRUE(worked_once);
  EXPECT_EQ(end_of(sending), LONGHAUL_STATUS_COMPLETED);
  EXPECT_EQ(end_of(receiving), LONGHAUL_STATUS_COMPLETED);
  EXPECT_EQ(target, source);
}

TEST_F(Translation, a_connect_gives_up_after_its_own_timeout) {
  ASSERT_NO_FATAL_FAILURE(connect());
  auto nobody = loopback(9);
  auto options = initial(longhaul_connect_options_init);
  options.timeout_ns = 50'000'000;
  longhaul_connection* connection = nullptr;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(longhaul_endpoint_connect(client_, &nobody, &options, &connection, &error_),
            LONGHAUL_TIMED_OUT);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5)) << "not the 10 s";
  EXPECT_EQ(connection, nullptr);
  options.timeout_ns = -1;
  EXPECT_EQ(longhaul_endpoint_connect(client_, &nobody, &options, &connection, &error_),
            LONGHAUL_INVALID_ARGUMENT);
}

TEST_F(Translation, a_bounded_loss_keeps_its_budget_and_deadline) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto source = pattern(1000);
  std::vector<std::uint8_t> target(1000);
  auto options = initial(longhaul_send_options_init);
  options.reliability = LONGHAUL_BOUNDED_LOSS;
  options.loss_budget = 1001;
  options.deadline_ns = kPatience;
  const std::uint64_t extent = source.size();
  const auto tensor = bytes_of(source, extent);
  EXPECT_EQ(longhaul_connection_send_tensor(to_server_, 1, &tensor, &options, nullptr, &error_),
            LONGHAUL_INVALID_ARGUMENT);
  EXPECT_TRUE(message_says("1001")) << error_.message;
  options.loss_budget = 10;
  longhaul_transfer* receiving = receive(1, target);
  EXPECT_EQ(end_of(send(1, source, &options)), LONGHAUL_STATUS_COMPLETED);
  EXPECT_EQ(end_of(receiving), LONGHAUL_STATUS_COMPLETED);
  // Nobody receives tag 2.
  options.deadline_ns = 30'000'000;
  options.loss_budget = 0;
  EXPECT_EQ(end_of(send(2, source, &options)), LONGHAUL_STATUS_TIMED_OUT);
}

TEST_F(Translation, several_threads_share_one_connection) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::vector<std::thread> threads;
  std::atomic<int> completed{0};
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const auto source = pattern(2000 + thread);
      std::vector<std::uint8_t> target(source.size());
      const std::uint64_t extent = source.size();
      const auto out = bytes_of(source, extent);
      const auto in = bytes_of(target, extent);
      for (int i = 0; i < 25; ++i) {
        auto error = sized<longhaul_error>();
        longhaul_transfer* receiving = nullptr;
        longhaul_connection_recv_tensor(to_client_, thread, &in, nullptr, &receiving, &error);
        longhaul_connection_send_tensor(to_server_, thread, &out, nullptr, nullptr, &error);
        longhaul_status status = LONGHAUL_STATUS_PENDING;
        longhaul_transfer_wait(receiving, kPatience, &status, &error);
        if (status == LONGHAUL_STATUS_COMPLETED && target == source) ++completed;
        longhaul_transfer_release(&receiving);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(completed.load(), 100);
}

TEST_F(Translation, what_callbacks_throw_becomes_a_code) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::vector<std::uint8_t> target(10);
  longhaul_transfer* receiving = receive(1, target);
  const auto out_of_memory = [](void*, const char*, std::size_t) { throw std::bad_alloc(); };
  EXPECT_EQ(longhaul_endpoint_dump(server_, out_of_memory, nullptr, kPatience, &error_),
            LONGHAUL_BUDGET_EXCEEDED);
  const auto broken = [](void*, const char*, std::size_t) { throw std::runtime_error("a reason"); };
  EXPECT_EQ(longhaul_endpoint_dump(server_, broken, nullptr, kPatience, &error_),
            LONGHAUL_INTERNAL);
  EXPECT_STREQ(error_.message, "a reason");
  longhaul_transfer_release(&receiving);
}

// Every number of C names the enumerator of C++ that has it.
TEST(Numbers, have_the_names_of_cpp) {
  for (int i = LONGHAUL_INVALID_ARGUMENT; i <= LONGHAUL_INTERNAL; ++i) {
    EXPECT_EQ(longhaul_code_name(i), to_string(static_cast<ErrorCode>(i))) << i;
  }
  for (int i = 0; i <= LONGHAUL_STATUS_INTERNAL; ++i) {
    EXPECT_EQ(longhaul_status_name(i), to_string(static_cast<Status>(i))) << i;
  }
  for (int i = 0; i <= LONGHAUL_CLASS_SCAVENGER; ++i) {
    EXPECT_EQ(longhaul_traffic_class_name(i), to_string(static_cast<TrafficClass>(i))) << i;
  }
  for (int i = 0; i <= LONGHAUL_BEST_EFFORT; ++i) {
    EXPECT_EQ(longhaul_reliability_name(i), to_string(static_cast<Reliability>(i))) << i;
  }
  for (int i = LONGHAUL_U8; i <= LONGHAUL_BOOLEAN; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    EXPECT_EQ(longhaul_dtype_name(i), to_string(dtype)) << i;
    EXPECT_EQ(longhaul_dtype_size(i), element_size(dtype)) << i;
    longhaul_dtype parsed = 0;
    EXPECT_EQ(longhaul_dtype_parse(longhaul_dtype_name(i), &parsed, nullptr), LONGHAUL_OK);
    EXPECT_EQ(parsed, i);
  }
  for (std::size_t i = 0; i < kDropReasons; ++i) {
    EXPECT_EQ(longhaul_drop_reason_name(i), to_string(static_cast<DropReason>(i))) << i;
  }
  EXPECT_EQ(longhaul_version(), version());
}

TEST(Defaults, are_those_of_cpp) {
  const auto config = initial(longhaul_endpoint_config_init);
  const EndpointConfig cpp;
  EXPECT_EQ(config.struct_size, sizeof config);
  EXPECT_EQ(config.threads, LONGHAUL_WORKER_THREADS);
  EXPECT_EQ(Duration(config.rtt_max_ns), cpp.rtt_max);
  EXPECT_EQ(config.mtu_max, cpp.mtu_max);
  EXPECT_EQ(config.mtu_base, cpp.mtu_base);
  EXPECT_EQ(Duration(config.peer_timeout_ns), cpp.peer_timeout);
  EXPECT_EQ(Duration(config.connect_timeout_ns), cpp.connect_timeout);
  EXPECT_EQ(config.eager_budget, cpp.eager_budget);
  EXPECT_EQ(config.eager_max, cpp.eager_max);
  EXPECT_EQ(config.transfers_max, cpp.transfers_max);
  EXPECT_EQ(config.connections_max, cpp.connections_max);
  EXPECT_EQ(config.completions_max, cpp.completions_max);
  EXPECT_EQ(config.worker_cpu, -1);
  EXPECT_EQ(config.validate_addresses, 1U);
  for (std::size_t i = 0; i < kTrafficClasses; ++i) {
    EXPECT_EQ(config.dscp[i], cpp.dscp.codepoints[i]);
  }
  EXPECT_EQ(initial(longhaul_send_options_init).traffic_class, LONGHAUL_CLASS_BULK);
  EXPECT_EQ(Duration(initial(longhaul_faults_init).reorder_delay_ns), cpp.inject.reorder_delay);
}

}  // namespace
}  // namespace longhaul::tests
