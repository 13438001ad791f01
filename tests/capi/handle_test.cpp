// SPDX-License-Identifier: Apache-2.0
// Handles that name nothing, or something that has ended: every call has an answer.
#include <array>
#include <chrono>
#include <thread>

#include "tests/capi/fixture.hpp"

namespace longhaul::tests {
namespace {

class Handles : public CPair {
 protected:
  // The calls that take a handle and can fail, with arguments that are otherwise good.
  struct Call {
    const char* name;
    std::function<longhaul_code()> run;
  };

  std::vector<Call> endpoint_calls(longhaul_endpoint* endpoint) {
    return {
        {"close", [=, this] { return longhaul_endpoint_close(endpoint, &error_); }},
        {"local_address",
         [=, this] { return longhaul_endpoint_local_address(endpoint, &address_, &error_); }},
        {"listen", [=, this] { return longhaul_endpoint_listen(endpoint, &error_); }},
        {"accept",
         [=, this] { return longhaul_endpoint_accept(endpoint, 1, &connection_, &error_); }},
        {"connect",
         [=, this] {
           return longhaul_endpoint_connect(endpoint, &remote_, nullptr, &connection_, &error_);
         }},
        {"connect_async",
         [=, this] {
           return longhaul_endpoint_connect_async(endpoint, &remote_, nullptr, &connection_,
                                                  &error_);
         }},
        {"register_memory",
         [=, this] {
           return longhaul_endpoint_register_memory(endpoint, data_.data(), data_.size(),
                                                    LONGHAUL_MEMORY_HOST, &region_, &error_);
         }},
        {"unregister_memory",
         [=, this] { return longhaul_endpoint_unregister_memory(endpoint, 1, &error_); }},
        {"poll",
         [=, this] { return longhaul_endpoint_poll(endpoint, &completion_, 1, &count_, &error_); }},
        {"run_once", [=, this] { return longhaul_endpoint_run_once(endpoint, nullptr, &error_); }},
        {"stats",
         [=, this] {
           return longhaul_endpoint_stats_get(endpoint, kPatience, &endpoint_stats_, &error_);
         }},
        {"dump",
         [=, this] {
           return longhaul_endpoint_dump(
               endpoint, [](void*, const char*, std::size_t) {}, nullptr, kPatience, &error_);
         }},
    };
  }

  std::vector<Call> connection_calls(const longhaul_connection* connection) {
    return {
        {"reason",
         [=, this] {
           return longhaul_connection_reason(connection, text_.data(), text_.size(), &error_);
         }},
        {"remote_address",
         [=, this] { return longhaul_connection_remote_address(connection, &address_, &error_); }},
        {"send_tensor",
         [=, this] {
           const auto tensor = bytes_of(std::as_const(data_), extent_);
           return longhaul_connection_send_tensor(connection, 9, &tensor, nullptr, nullptr,
                                                  &error_);
         }},
        {"recv_tensor",
         [=, this] {
           const auto tensor = bytes_of(data_, extent_);
           return longhaul_connection_recv_tensor(connection, 9, &tensor, nullptr, nullptr,
                                                  &error_);
         }},
        {"send_tensors",
         [=, this] {
           const auto tensor = bytes_of(std::as_const(data_), extent_);
           return longhaul_connection_send_tensors(connection, 9, &tensor, 1, nullptr, nullptr,
                                                   &error_);
         }},
        {"recv_tensors",
         [=, this] {
           const auto tensor = bytes_of(data_, extent_);
           return longhaul_connection_recv_tensors(connection, 9, &tensor, 1, nullptr, nullptr,
                                                   &error_);
         }},
        {"wait_connected",
         [=, this] { return longhaul_connection_wait_connected(connection, 1, &error_); }},
        {"stats",
         [=, this] {
           return longhaul_connection_stats_get(connection, kPatience, &connection_stats_, &error_);
         }},
        {"close", [=, this] { return longhaul_connection_close(connection, nullptr, &error_); }},
    };
  }

  std::vector<Call> transfer_calls(const longhaul_transfer* transfer) {
    return {
        {"progress",
         [=, this] { return longhaul_transfer_progress(transfer, &progress_, &error_); }},
        {"reason",
         [=, this] {
           return longhaul_transfer_reason(transfer, text_.data(), text_.size(), &error_);
         }},
        {"wait", [=, this] { return longhaul_transfer_wait(transfer, 1, nullptr, &error_); }},
        {"cancel", [=, this] { return longhaul_transfer_cancel(transfer, &error_); }},
        {"ready", [=, this] { return longhaul_transfer_ready(transfer, 1, &error_); }},
        {"received_ranges",
         [=, this] {
           return longhaul_transfer_received_ranges(transfer, nullptr, 0, &count_, &error_);
         }},
    };
  }

  void expect_misuse(const std::vector<Call>& calls, std::string_view words) {
    for (const Call& call : calls) {
      EXPECT_EQ(call.run(), LONGHAUL_INVALID_ARGUMENT) << call.name;
      EXPECT_EQ(error_.code, LONGHAUL_INVALID_ARGUMENT) << call.name;
      EXPECT_TRUE(message_says(words)) << call.name << ": " << error_.message;
    }
  }
  // Which answer these calls give (kEither: success or `closed`); the others, `closed`.
  static constexpr longhaul_code kEither = -1;
  void expect_closed(const std::vector<Call>& calls,
                     const std::vector<std::pair<std::string, longhaul_code>>& but) {
    for (const Call& call : calls) {
      longhaul_code expected = LONGHAUL_CLOSED;
      for (const auto& [name, code] : but) {
        if (name == call.name) expected = code;
      }
      const longhaul_code code = call.run();
      if (expected == kEither && code == LONGHAUL_OK) continue;
      EXPECT_EQ(code, expected == kEither ? LONGHAUL_CLOSED : expected)
          << call.name << ": " << error_.message;
    }
  }

  longhaul_address address_ = sized<longhaul_address>();
  longhaul_address remote_ = loopback(9);
  longhaul_connection* connection_ = nullptr;
  longhaul_completion completion_ = sized<longhaul_completion>();
  longhaul_endpoint_stats endpoint_stats_ = sized<longhaul_endpoint_stats>();
  longhaul_connection_stats connection_stats_ = sized<longhaul_connection_stats>();
  longhaul_progress progress_ = sized<longhaul_progress>();
  std::vector<std::uint8_t> data_ = std::vector<std::uint8_t>(16);
  const std::uint64_t extent_ = 16;
  std::array<char, 100> text_{};
  std::size_t count_ = 0;
  std::uint64_t region_ = 0;
};

TEST_F(Handles, null_is_misuse_in_every_call) {
  expect_misuse(endpoint_calls(nullptr), "the endpoint handle is NULL");
  expect_misuse(connection_calls(nullptr), "the connection handle is NULL");
  expect_misuse(transfer_calls(nullptr), "the transfer handle is NULL");
  EXPECT_EQ(longhaul_endpoint_completion_fd(nullptr), -1);
  EXPECT_EQ(longhaul_connection_id(nullptr), 0U);
  EXPECT_EQ(longhaul_connection_status(nullptr), LONGHAUL_STATUS_CLOSED);
  EXPECT_EQ(longhaul_transfer_id(nullptr), 0U);
  EXPECT_EQ(longhaul_transfer_status(nullptr), LONGHAUL_STATUS_CLOSED);
}

TEST_F(Handles, null_as_a_place_for_results_is_misuse) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto config = test_config(nullptr);
  EXPECT_EQ(longhaul_endpoint_open(&config, nullptr, &error_), LONGHAUL_INVALID_ARGUMENT);
  longhaul_endpoint* none = client_;
  EXPECT_EQ(longhaul_endpoint_open(nullptr, &none, nullptr), LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr) << "a call that fails leaves no handle";
  EXPECT_EQ(longhaul_endpoint_accept(client_, 0, nullptr, &error_), LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(longhaul_endpoint_connect(client_, &remote_, nullptr, nullptr, &error_),
            LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(longhaul_endpoint_connect(client_, nullptr, nullptr, &connection_, &error_),
            LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(longhaul_endpoint_register_memory(client_, data_.data(), 16, LONGHAUL_MEMORY_HOST,
                                              nullptr, &error_),
            LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(longhaul_endpoint_poll(client_, &completion_, 1, nullptr, &error_),
            LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(longhaul_endpoint_poll(client_, nullptr, 1, &count_, &error_),
            LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(longhaul_endpoint_poll(client_, nullptr, 0, &count_, &error_), LONGHAUL_OK);
  EXPECT_EQ(longhaul_endpoint_stats_get(client_, kPatience, nullptr, &error_),
            LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(longhaul_endpoint_dump(client_, nullptr, nullptr, kPatience, &error_),
            LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(longhaul_connection_send_tensor(to_server_, 1, nullptr, nullptr, nullptr, &error_),
            LONGHAUL_INVALID_ARGUMENT);
  EXPECT_TRUE(message_says("longhaul_const_tensor is NULL")) << error_.message;
  EXPECT_EQ(longhaul_connection_recv_tensors(to_server_, 1, nullptr, 3, nullptr, nullptr, &error_),
            LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(longhaul_connection_recv_tensors(to_server_, 1, nullptr, 0, nullptr, nullptr, &error_),
            LONGHAUL_INVALID_ARGUMENT);
  EXPECT_TRUE(message_says("no tensors")) << error_.message;
  EXPECT_EQ(longhaul_connection_reason(to_server_, nullptr, 10, &error_),
            LONGHAUL_INVALID_ARGUMENT);
  EXPECT_EQ(longhaul_connection_reason(to_server_, text_.data(), 0, &error_),
            LONGHAUL_INVALID_ARGUMENT);
}

TEST_F(Handles, a_handle_of_another_kind_is_misuse) {
  ASSERT_NO_FATAL_FAILURE(connect());
  expect_misuse(endpoint_calls(reinterpret_cast<longhaul_endpoint*>(to_server_)), "another kind");
  expect_misuse(connection_calls(reinterpret_cast<longhaul_connection*>(client_)), "another kind");
  expect_misuse(transfer_calls(reinterpret_cast<longhaul_transfer*>(client_)), "another kind");
  auto* transfer = reinterpret_cast<longhaul_transfer*>(to_server_);
  longhaul_transfer_release(&transfer);
  EXPECT_NE(transfer, nullptr) << "left alone";
  EXPECT_EQ(longhaul_connection_status(to_server_), LONGHAUL_STATUS_COMPLETED);
}

TEST_F(Handles, a_closed_endpoint_answers_every_call) {
  ASSERT_NO_FATAL_FAILURE(connect());
  EXPECT_EQ(longhaul_endpoint_close(client_, &error_), LONGHAUL_OK);
  EXPECT_EQ(longhaul_endpoint_close(client_, &error_), LONGHAUL_OK) << "a second time";
  expect_closed(endpoint_calls(client_), {{"close", LONGHAUL_OK},
                                          {"local_address", LONGHAUL_OK},
                                          {"poll", LONGHAUL_OK},
                                          {"run_once", LONGHAUL_OK}});
  EXPECT_EQ(connection_, nullptr);
  EXPECT_EQ(longhaul_endpoint_completion_fd(client_), -1);
  EXPECT_EQ(longhaul_connection_status(to_server_), LONGHAUL_STATUS_CLOSED);
  expect_closed(connection_calls(to_server_),
                {{"reason", LONGHAUL_OK}, {"remote_address", LONGHAUL_OK}, {"close", LONGHAUL_OK}});
}

TEST_F(Handles, a_closed_connection_answers_every_call) {
  ASSERT_NO_FATAL_FAILURE(connect());
  longhaul_transfer* pending = receive(1, data_);
  EXPECT_EQ(longhaul_connection_close(to_client_, "enough", &error_), LONGHAUL_OK);
  longhaul_status status = LONGHAUL_STATUS_PENDING;
  ASSERT_EQ(longhaul_transfer_wait(pending, kPatience, &status, &error_), LONGHAUL_OK);
  EXPECT_EQ(status, LONGHAUL_STATUS_CLOSED);
  while (longhaul_connection_status(to_client_) == LONGHAUL_STATUS_COMPLETED) {
    std::this_thread::yield();
  }
  EXPECT_EQ(longhaul_connection_close(to_client_, "again", &error_), LONGHAUL_OK);
  expect_closed(connection_calls(to_client_), {{"reason", LONGHAUL_OK},
                                               {"stats", kEither},
                                               {"remote_address", LONGHAUL_OK},
                                               {"close", LONGHAUL_OK}});
  expect_closed(transfer_calls(pending), {{"progress", LONGHAUL_OK},
                                          {"reason", LONGHAUL_OK},
                                          {"wait", LONGHAUL_OK},
                                          {"cancel", LONGHAUL_OK},
                                          {"ready", LONGHAUL_INVALID_ARGUMENT},
                                          {"received_ranges", LONGHAUL_OK}});
  longhaul_transfer_release(&pending);
  // The peer learns it, with the reason.
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kPatience);
  while (longhaul_connection_status(to_server_) == LONGHAUL_STATUS_COMPLETED &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  EXPECT_EQ(longhaul_connection_status(to_server_), LONGHAUL_STATUS_CLOSED);
  ASSERT_EQ(longhaul_connection_reason(to_server_, text_.data(), text_.size(), &error_),
            LONGHAUL_OK);
  EXPECT_NE(std::string_view(text_.data()).find("enough"), std::string_view::npos) << text_.data();
}

TEST_F(Handles, release_gives_back_once_and_ends_nothing) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::vector<std::uint8_t> target(16);
  data_.assign(16, 5);
  longhaul_transfer* receiving = receive(1, target);
  const std::uint64_t id = longhaul_transfer_id(receiving);
  EXPECT_NE(id, 0U);
  longhaul_transfer_release(&receiving);
  EXPECT_EQ(receiving, nullptr);
  longhaul_transfer_release(&receiving);
  longhaul_transfer_release(nullptr);
  longhaul_connection_release(nullptr);
  longhaul_endpoint_release(nullptr);
  longhaul_connection_release(&to_client_);
  EXPECT_EQ(end_of(send(1, data_)), LONGHAUL_STATUS_COMPLETED);
  EXPECT_EQ(target, data_);
}

TEST_F(Handles, connections_and_transfers_outlive_their_endpoint) {
  ASSERT_NO_FATAL_FAILURE(connect());
  longhaul_transfer* receiving = receive(1, data_);
  longhaul_endpoint_release(&server_);
  EXPECT_EQ(server_, nullptr);
  EXPECT_EQ(longhaul_transfer_status(receiving), LONGHAUL_STATUS_CLOSED);
  EXPECT_EQ(longhaul_transfer_cancel(receiving, &error_), LONGHAUL_OK);
  EXPECT_EQ(longhaul_connection_status(to_client_), LONGHAUL_STATUS_CLOSED);
  longhaul_transfer_release(&receiving);
}

TEST_F(Handles, another_thread_may_close_while_one_waits) {
  ASSERT_NO_FATAL_FAILURE(connect());
  longhaul_transfer* receiving = receive(1, data_);
  std::thread waiter([&] { EXPECT_EQ(end_of(receiving), LONGHAUL_STATUS_CLOSED); });
  std::thread accepter([&] {
    longhaul_connection* never = nullptr;
    EXPECT_EQ(longhaul_endpoint_accept(server_, -1, &never, nullptr), LONGHAUL_CLOSED);
  });
  std::thread second([&] { EXPECT_EQ(longhaul_endpoint_close(server_, nullptr), LONGHAUL_OK); });
  EXPECT_EQ(longhaul_endpoint_close(server_, nullptr), LONGHAUL_OK);
  for (std::thread* thread : {&waiter, &accepter, &second}) thread->join();
}

}  // namespace
}  // namespace longhaul::tests
