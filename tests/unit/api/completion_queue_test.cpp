// SPDX-License-Identifier: Apache-2.0
#include "lib/api/completion_queue.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <thread>
#include <vector>

namespace longhaul::api {
namespace {

Completion numbered(std::uint64_t number) {
  Completion completion;
  completion.cookie = number;
  return completion;
}

bool readable(int descriptor) {
  pollfd entry{descriptor, POLLIN, 0};
  return poll(&entry, 1, 0) == 1;
}

std::vector<std::uint64_t> take_all(CompletionQueue& queue) {
  std::vector<std::uint64_t> numbers;
  std::array<Completion, 3> batch;
  bool was_full = false;
  while (const std::size_t count = queue.take(batch, true, was_full)) {
    for (std::size_t i = 0; i < count; ++i) numbers.push_back(batch[i].cookie);
  }
  return numbers;
}

TEST(CompletionQueue, an_application_that_never_polls_keeps_the_newest) {
  CompletionQueue queue(4);
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_TRUE(queue.push(numbered(i)));
  EXPECT_EQ(take_all(queue), (std::vector<std::uint64_t>{6, 7, 8, 9}));
}

TEST(CompletionQueue, once_polled_a_full_queue_refuses_and_the_next_take_says_so) {
  CompletionQueue queue(4);
  EXPECT_TRUE(take_all(queue).empty());
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(queue.push(numbered(i)));
  Completion one;
  bool was_full = true;
  EXPECT_EQ(queue.take({&one, 1}, true, was_full), 1U);
  EXPECT_FALSE(was_full);
  EXPECT_TRUE(queue.push(numbered(4)));
  EXPECT_FALSE(queue.push(numbered(5)));
  EXPECT_EQ(queue.take({&one, 1}, true, was_full), 1U);
  EXPECT_TRUE(was_full);
  EXPECT_EQ(queue.take({&one, 1}, true, was_full), 1U);
  EXPECT_FALSE(was_full) << "said once";
  EXPECT_TRUE(queue.push(numbered(5)));
  EXPECT_EQ(take_all(queue), (std::vector<std::uint64_t>{3, 4, 5}));
}

TEST(CompletionQueue, what_does_not_fit_while_closing_is_given_out_afterwards) {
  CompletionQueue queue(2);
  EXPECT_TRUE(take_all(queue).empty());
  for (std::uint64_t i = 0; i < 7; ++i) queue.push_last(numbered(i));
  queue.finish();
  EXPECT_EQ(take_all(queue), (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(take_all(queue).empty());
}

TEST(CompletionQueue, a_descriptor_asked_for_late_is_readable_at_once) {
  CompletionQueue queue(4);
  ASSERT_TRUE(queue.open_descriptor());
  EXPECT_TRUE(queue.push(numbered(1)));
  const int descriptor = queue.use_descriptor();
  EXPECT_TRUE(readable(descriptor));
  take_all(queue);
  EXPECT_FALSE(readable(descriptor));
  EXPECT_TRUE(queue.push(numbered(2)));
  EXPECT_TRUE(queue.push(numbered(3)));
  EXPECT_TRUE(readable(descriptor));
  Completion one;
  bool was_full = false;
  queue.take({&one, 1}, true, was_full);
  EXPECT_TRUE(readable(descriptor)) << "another one waits";
}

// A consumer that sleeps on the descriptor alone must see everything, whatever the timing, and may
// be woken in vain only rarely.
TEST(CompletionQueue, consumers_that_only_wait_for_the_descriptor_miss_nothing) {
  constexpr std::uint64_t kMany = 100'000;
  CompletionQueue queue(64);
  ASSERT_TRUE(queue.open_descriptor());
  const int descriptor = queue.use_descriptor();
  std::atomic<std::uint64_t> seen{0};
  std::atomic<std::uint64_t> sum{0};
  std::atomic<bool> room{false};
  std::vector<std::thread> consumers;
  for (int i = 0; i < 3; ++i) {
    consumers.emplace_back([&, i] {
      std::array<Completion, 5> batch;
      while (seen.load() < kMany) {
        pollfd entry{descriptor, POLLIN, 0};
        if (poll(&entry, 1, 100) != 1) continue;
        bool was_full = false;
        const std::size_t most = static_cast<std::size_t>(i) * 2 + 1;
        const std::size_t count = queue.take(std::span(batch).first(most), true, was_full);
        for (std::size_t at = 0; at < count; ++at) sum += batch[at].cookie;
        seen += count;
        if (was_full) room.store(true);
      }
    });
  }
  std::uint64_t refusals = 0;
  for (std::uint64_t i = 1; i <= kMany; ++i) {
    while (!queue.push(numbered(i))) {
      ++refusals;
      // The promise: after a refusal some take says that there is room.
      while (!room.exchange(false)) std::this_thread::yield();
    }
  }
  for (std::thread& consumer : consumers) consumer.join();
  EXPECT_EQ(seen.load(), kMany);
  EXPECT_EQ(sum.load(), kMany * (kMany + 1) / 2);
  EXPECT_FALSE(readable(descriptor));
  EXPECT_GT(refusals, 0U) << "the queue never was full: the test shows nothing";
}

}  // namespace
}  // namespace longhaul::api
