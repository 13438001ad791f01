// SPDX-License-Identifier: Apache-2.0
// Completions by poll and by epoll, back-pressure, and endpoints the caller turns.
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <map>
#include <set>
#include <thread>

#include "tests/api/fixture.hpp"

namespace longhaul::tests {
namespace {

class Completions : public PairTest {
 protected:
  static bool readable(const Endpoint& endpoint) {
    pollfd entry{endpoint.completion_fd(), POLLIN, 0};
    return ::poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
  }
};

TEST_F(Completions, carry_what_the_call_was_given) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto source = pattern(5000);
  std::vector<std::uint8_t> target(source.size());
  ReceiveOptions receive_options;
  receive_options.cookie = 11;
  SendOptions send_options;
  send_options.cookie = 22;
  const auto receive = to_client_.recv_tensor(42, view(target), receive_options);
  const auto send = to_server_.send_tensor(42, view(source), send_options);
  ASSERT_TRUE(receive && send);
  ASSERT_EQ(end_of(*receive), Status::completed);
  ASSERT_EQ(end_of(*send), Status::completed);
  for (const auto& [endpoint, transfer, connection, cookie] :
       {std::tuple(&server_, *receive, to_client_, 11U), {&client_, *send, to_server_, 22U}}) {
    Completion completion;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (completion.kind != Completion::Kind::transfer || completion.transfer_id == 0) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      endpoint->poll({&completion, 1});
    }
    EXPECT_EQ(completion.status, Status::completed);
    EXPECT_EQ(completion.cookie, cookie);
    EXPECT_EQ(completion.transfer_id, transfer.id());
    EXPECT_EQ(completion.connection_id, connection.id());
    EXPECT_EQ(completion.tag, 42U);
    EXPECT_EQ(completion.bytes, source.size());
  }
}

TEST_F(Completions, the_descriptor_is_readable_exactly_while_some_wait) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::vector<Completion> batch(64);
  EXPECT_GE(server_.completion_fd(), 0);
  // The connection's own completion may come a moment after accept().
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (server_.poll(batch) == 0) ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  EXPECT_FALSE(readable(server_));
  std::vector<std::uint8_t> target(4);
  std::vector<Transfer> receives;
  for (int i = 0; i < 3; ++i) {
    const auto receive = to_client_.recv_tensor(1, view(target));
    ASSERT_TRUE(receive);
    ASSERT_TRUE(receive->cancel());
    receives.push_back(*receive);
  }
  for (const Transfer& receive : receives) ASSERT_EQ(end_of(receive), Status::cancelled);
  std::size_t taken = 0;
  while (taken < 3) {
    pollfd entry{server_.completion_fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&entry, 1, 10000), 1);
    const std::size_t count = server_.poll(std::span(batch).first(1));
    EXPECT_EQ(count, 1U) << "readable, but nothing there";
    taken += count;
  }
  EXPECT_FALSE(readable(server_));
}

TEST_F(Completions, an_epoll_loop_sees_every_one) {
  ASSERT_NO_FATAL_FAILURE(connect());
  constexpr std::size_t kMany = 3000;
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event interest{};
  interest.events = EPOLLIN;
  ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, server_.completion_fd(), &interest), 0);
  const std::vector<std::uint8_t> source{1, 2, 3, 4, 5};
  std::vector<std::uint8_t> target(source.size() * kMany);
  std::vector<Transfer> sends;  // the source is the library's until each of them has ended
  std::thread sender([&] {
    for (std::size_t i = 0; i < kMany; ++i) {
      auto send = to_server_.send_tensor(i, view(source));
      for (; !send; send = to_server_.send_tensor(i, view(source))) std::this_thread::yield();
      sends.push_back(*send);
    }
  });
  std::thread receiver([&] {
    for (std::size_t i = 0; i < kMany; ++i) {
      ReceiveOptions options;
      options.cookie = i;
      const TensorView where = bytes_view(static_cast<void*>(target.data() + 5 * i), 5);
      while (!to_client_.recv_tensor(i, where, options)) std::this_thread::yield();
    }
  });
  std::set<std::uint64_t> seen;
  std::vector<Completion> batch(32);
  while (seen.size() < kMany) {
    epoll_event event{};
    if (epoll_wait(epoll, &event, 1, 20000) != 1) break;
    const std::size_t count = server_.poll(batch);
    for (std::size_t i = 0; i < count; ++i) {
      if (batch[i].kind != Completion::Kind::transfer) continue;
      EXPECT_EQ(batch[i].status, Status::completed);
      EXPECT_TRUE(seen.insert(batch[i].cookie).second) << "twice";
    }
  }
  sender.join();
  receiver.join();
  EXPECT_EQ(seen.size(), kMany);
  for (const Transfer& send : sends) ASSERT_EQ(end_of(send), Status::completed);
  ::close(epoll);
}

TEST_F(Completions, a_full_queue_holds_the_worker_back_and_loses_nothing) {
  ASSERT_NO_FATAL_FAILURE(connect([](EndpointConfig& config) { config.completions_max = 8; }));
  Completion completion;
  while (server_.poll({&completion, 1}) == 0) std::this_thread::yield();  // the connection's own
  std::vector<std::uint8_t> target(4);
  std::vector<Transfer> receives;
  for (int i = 0; i < 100; ++i) {
    const auto receive = to_client_.recv_tensor(1, view(target));
    ASSERT_TRUE(receive);
    ASSERT_TRUE(receive->cancel());
    receives.push_back(*receive);
  }
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(receives.back().status(), Status::pending) << "the queue holds 8 only";
  std::set<std::uint64_t> seen;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (seen.size() < receives.size() && std::chrono::steady_clock::now() < deadline) {
    if (server_.poll({&completion, 1}) == 1 && completion.kind == Completion::Kind::transfer) {
      EXPECT_TRUE(seen.insert(completion.transfer_id).second);
    }
  }
  EXPECT_EQ(seen.size(), receives.size());
  for (const Transfer& receive : receives) EXPECT_EQ(end_of(receive), Status::cancelled);
}

TEST_F(Completions, an_application_that_only_waits_never_has_to_poll) {
  ASSERT_NO_FATAL_FAILURE(connect([](EndpointConfig& config) { config.completions_max = 8; }));
  std::vector<std::uint8_t> source{1, 2, 3};
  std::vector<std::uint8_t> target(3);
  for (int i = 0; i < 100; ++i) {
    const auto receive = to_client_.recv_tensor(1, view(target));
    const auto send = to_server_.send_tensor(1, view(std::as_const(source)));
    ASSERT_TRUE(receive && send);
    ASSERT_EQ(end_of(*receive), Status::completed);
    ASSERT_EQ(end_of(*send), Status::completed);
  }
}

TEST_F(Completions, endpoints_without_threads_are_turned_by_waiting_and_by_run_once) {
  EndpointConfig config = test_config();
  config.threads = ThreadMode::caller_polls;
  config.engine = "auto";
  server_ = Endpoint::open(config).value();
  client_ = Endpoint::open(config).value();
  ASSERT_TRUE(server_.listen());
  const auto connection = client_.connect_async(server_.local_address());
  ASSERT_TRUE(connection);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  Result<Connection> accepted = fail(ErrorCode::would_block);
  while (!accepted || connection->status() == Status::pending) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    server_.run_once();
    client_.run_once();
    if (!accepted) accepted = server_.accept();
  }
  EXPECT_TRUE(connection->wait_connected());
  const auto source = pattern(1 << 20);
  std::vector<std::uint8_t> target(source.size());
  const auto receive = accepted->recv_tensor(1, view(target));
  const auto send = connection->send_tensor(1, view(source));
  ASSERT_TRUE(receive && send);
  std::thread other([&] { EXPECT_EQ(end_of(*receive), Status::completed); });
  EXPECT_EQ(end_of(*send), Status::completed);
  other.join();
  EXPECT_EQ(target, source);
  const auto stats = client_.stats();
  ASSERT_TRUE(stats) << why(stats);
  EXPECT_EQ(stats->connections, 1U);
  server_.close();
  client_.close();
}

TEST_F(Completions, several_threads_share_one_connection) {
  ASSERT_NO_FATAL_FAILURE(connect());
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([this, id, &good] {
      for (int i = 0; i < kEach; ++i) {
        const auto tag = static_cast<Tag>(id);
        const auto source = pattern(static_cast<std::size_t>(1 + 37 * i), tag);
        std::vector<std::uint8_t> target(source.size());
        const auto receive = to_client_.recv_tensor(tag, view(target));
        const auto send = to_server_.send_tensor(tag, view(source));
        if (!receive || !send) return;
        if (end_of(*receive) == Status::completed && end_of(*send) == Status::completed &&
            target == source) {
          ++good;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good.load(), kThreads * kEach);
}

}  // namespace
}  // namespace longhaul::tests
