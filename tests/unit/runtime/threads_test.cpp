// SPDX-License-Identifier: Apache-2.0
// Clock, wait word, fork guard, mailbox and thread.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>
#include <vector>

#include "lib/runtime/clock.hpp"
#include "lib/runtime/fork_guard.hpp"
#include "lib/runtime/mailbox.hpp"
#include "lib/runtime/wait_word.hpp"
#include "lib/runtime/worker_thread.hpp"

namespace longhaul::runtime {
namespace {

TEST(Clock, the_machine_clock_never_goes_back) {
  const MachineClock clock;
  Timestamp last = clock.now();
  for (int i = 0; i < 1000; ++i) {
    const Timestamp now = clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_GE(clock.now() - last, std::chrono::milliseconds(2));
}

TEST(Clock, the_virtual_clock_stands_where_it_was_put_and_never_goes_back) {
  VirtualClock clock;
  clock.set(Timestamp(Duration(50)));
  EXPECT_EQ(clock.now(), Timestamp(Duration(50)));
  clock.set(Timestamp(Duration(20)));
  EXPECT_EQ(clock.now(), Timestamp(Duration(50)));
}

TEST(WaitWord, a_wait_ends_after_its_time) {
  WaitWord word;
  const MachineClock clock;
  const Timestamp start = clock.now();
  word.wait(word.prepare(), std::chrono::milliseconds(5));
  EXPECT_GE(clock.now() - start, std::chrono::milliseconds(5));
}

TEST(WaitWord, a_notification_between_looking_and_waiting_is_not_missed) {
  WaitWord word;
  const auto prepared = word.prepare();
  word.notify();
  word.wait(prepared, std::nullopt);  // would hang
  SUCCEED();
}

TEST(WaitWord, every_waiter_is_woken) {
  WaitWord word;
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (;;) {
        const auto prepared = word.prepare();
        if (done.load()) return;
        word.wait(prepared, std::nullopt);
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  done.store(true);
  word.notify();
  for (std::thread& thread : threads) thread.join();
}

TEST(ForkGuard, a_child_knows_that_it_is_one) {
  const ForkGuard guard;
  EXPECT_FALSE(guard.in_child());
  const pid_t child = fork();
  if (child == 0) _exit(guard.in_child() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_FALSE(guard.in_child());
}

Request numbered(std::uint64_t thread, std::uint64_t number) {
  Request request;
  request.body = CancelRequest{thread, number};
  return request;
}

TEST(Mailbox, each_posters_requests_arrive_in_order_and_none_is_lost) {
  constexpr std::uint64_t kThreads = 3;
  constexpr std::uint64_t kEach = 20000;
  Mailbox mailbox(64);
  std::vector<std::thread> threads;
  for (std::uint64_t id = 0; id < kThreads; ++id) {
    threads.emplace_back([&mailbox, id] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        Request request = numbered(id, i);
        bool wake = false;
        while (!mailbox.post(std::move(request), wake)) std::this_thread::yield();
      }
    });
  }
  std::array<std::uint64_t, kThreads> next{};
  std::uint64_t taken = 0;
  Request request;
  while (taken < kThreads * kEach) {
    if (!mailbox.take(request)) {
      std::this_thread::yield();
      continue;
    }
    const auto& cancel = std::get<CancelRequest>(request.body);
    ASSERT_EQ(cancel.transfer, next[cancel.connection]++);
    ++taken;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(mailbox.take(request));
}

TEST(Mailbox, whoever_posts_to_a_sleeper_is_told_to_wake_it) {
  Mailbox mailbox(8);
  bool wake = true;
  ASSERT_TRUE(mailbox.post(numbered(0, 0), wake));
  EXPECT_FALSE(wake);
  EXPECT_FALSE(mailbox.fall_asleep()) << "something was posted since the last look";
  mailbox.look();
  ASSERT_TRUE(mailbox.fall_asleep());
  ASSERT_TRUE(mailbox.post(numbered(0, 1), wake));
  EXPECT_TRUE(wake);
  mailbox.wake_up();
  EXPECT_FALSE(mailbox.nudge());
  EXPECT_FALSE(mailbox.quiet());
}

TEST(WorkerThread, has_the_name_and_blocks_every_signal) {
  WorkerThread thread;
  std::array<char, 16> name{};
  sigset_t blocked;
  sigemptyset(&blocked);
  std::atomic<bool> named{false};
  const auto started = thread.start("longhaul-0", std::nullopt, [&] {
    while (!named.load()) std::this_thread::yield();
    pthread_getname_np(pthread_self(), name.data(), name.size());
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  });
  ASSERT_TRUE(started);
  named.store(true);
  EXPECT_FALSE(thread.is_current());
  thread.join();
  EXPECT_STREQ(name.data(), "longhaul-0");
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGPROF, SIGCHLD}) {
    EXPECT_EQ(sigismember(&blocked, signal), 1) << signal;
  }
}

TEST(WorkerThread, is_pinned_without_moving_its_starter) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  unsigned cpu = 0;
  while (!CPU_ISSET(cpu, &before)) ++cpu;
  cpu_set_t inside;
  CPU_ZERO(&inside);
  WorkerThread thread;
  ASSERT_TRUE(
      thread.start("longhaul-0", cpu, [&] { sched_getaffinity(0, sizeof inside, &inside); }));
  thread.join();
  EXPECT_EQ(CPU_COUNT(&inside), 1);
  EXPECT_TRUE(CPU_ISSET(cpu, &inside));
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(WorkerThread, a_cpu_that_does_not_exist_is_refused_by_number) {
  WorkerThread thread;
  for (const unsigned cpu : {1023U, 1U << 20}) {
    const auto started = thread.start("longhaul-0", cpu, [] {});
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(started.error().context.find(std::to_string(cpu)), std::string::npos);
  }
  thread.join();
}

}  // namespace
}  // namespace longhaul::runtime
