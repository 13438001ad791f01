// SPDX-License-Identifier: Apache-2.0
#include "lib/base/mpmc_ring.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace longhaul::base {
namespace {

TEST(MpmcRing, returns_items_in_order_and_refuses_when_full_or_empty) {
  MpmcRing<int> ring(4);
  EXPECT_EQ(ring.capacity(), 4u);
  int item = -1;
  for (int round = 0; round < 10; ++round) {
    EXPECT_TRUE(ring.empty());
    EXPECT_FALSE(ring.try_pop(item));
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.try_push(round * 4 + i));
    EXPECT_FALSE(ring.try_push(99));
    EXPECT_FALSE(ring.empty());
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(ring.try_pop(item));
      EXPECT_EQ(item, round * 4 + i);
    }
  }
}

TEST(MpmcRing, rounds_odd_capacities_up) {
  EXPECT_EQ(MpmcRing<int>(0).capacity(), 2u);
  EXPECT_EQ(MpmcRing<int>(1).capacity(), 2u);
  EXPECT_EQ(MpmcRing<int>(5).capacity(), 8u);
}

TEST(MpmcRing, leaves_a_refused_item_with_its_owner) {
  MpmcRing<std::unique_ptr<int>> ring(2);
  EXPECT_TRUE(ring.try_push(std::make_unique<int>(1)));
  EXPECT_TRUE(ring.try_push(std::make_unique<int>(2)));
  auto third = std::make_unique<int>(3);
  EXPECT_FALSE(ring.try_push(std::move(third)));
  ASSERT_NE(third, nullptr);
  EXPECT_EQ(*third, 3);
  std::unique_ptr<int> out;
  ASSERT_TRUE(ring.try_pop(out));
  EXPECT_EQ(*out, 1);
  EXPECT_TRUE(ring.try_push(std::move(third)));
}

TEST(MpmcRing, keeps_nothing_of_popped_items_and_destroys_the_rest) {
  const auto token = std::make_shared<int>(0);
  {
    MpmcRing<std::shared_ptr<int>> ring(8);
    for (int i = 0; i < 6; ++i) ring.try_push(std::shared_ptr<int>(token));
    EXPECT_EQ(token.use_count(), 7);
    std::shared_ptr<int> out;
    for (int i = 0; i < 4; ++i) ring.try_pop(out);
    out.reset();
    EXPECT_EQ(token.use_count(), 3);
  }
  EXPECT_EQ(token.use_count(), 1);
}

/// Counts the objects that exist, moved-from ones included.
struct Counted {
  explicit Counted(int& alive_) noexcept : alive(&alive_) { ++*alive; }
  Counted(Counted&& other) noexcept : alive(other.alive) { ++*alive; }
  Counted& operator=(Counted&&) noexcept { return *this; }
  ~Counted() { --*alive; }
  int* alive;
};

TEST(MpmcRing, an_object_lives_in_it_only_between_push_and_pop) {
  int alive = 0;
  {
    MpmcRing<Counted> ring(4);
    EXPECT_EQ(alive, 0);
    Counted out(alive);
    for (int i = 0; i < 3; ++i) ring.try_push(Counted(alive));
    EXPECT_EQ(alive, 4);
    ring.try_pop(out);
    EXPECT_EQ(alive, 3);
  }
  EXPECT_EQ(alive, 0);
}

struct Item {
  std::uint32_t producer = 0;
  std::uint32_t sequence = 0;
};

// Every item exactly once, and what one consumer sees of one producer in the producer's order.
void run_threads(std::uint32_t producers, std::uint32_t consumers, std::size_t capacity,
                 std::uint32_t items_each) {
  MpmcRing<std::unique_ptr<Item>> ring(capacity);
  std::vector<std::vector<Item>> seen(consumers);
  std::atomic<std::uint32_t> left{producers * items_each};
  std::vector<std::thread> threads;
  for (std::uint32_t p = 0; p < producers; ++p) {
    threads.emplace_back([&ring, p, items_each] {
      for (std::uint32_t i = 0; i < items_each; ++i) {
        auto item = std::make_unique<Item>(Item{p, i});
        while (!ring.try_push(std::move(item))) std::this_thread::yield();
      }
    });
  }
  for (std::uint32_t c = 0; c < consumers; ++c) {
    threads.emplace_back([&ring, &left, &mine = seen[c]] {
      std::unique_ptr<Item> item;
      while (left.load() > 0) {
        if (!ring.try_pop(item)) {
          std::this_thread::yield();
          continue;
        }
        --left;
        mine.push_back(*item);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  std::vector<std::vector<int>> count(producers, std::vector<int>(items_each, 0));
  for (const auto& mine : seen) {
    std::vector<std::int64_t> last(producers, -1);
    for (const Item& item : mine) {
      ASSERT_GT(std::int64_t{item.sequence}, last[item.producer]);
      last[item.producer] = item.sequence;
      ++count[item.producer][item.sequence];
    }
  }
  for (const auto& row : count) {
    for (const int times : row) ASSERT_EQ(times, 1);
  }
  EXPECT_TRUE(ring.empty());
}

TEST(MpmcRing, hands_over_every_item_once_between_two_threads) {
  run_threads(1, 1, 64, 50000);
}
TEST(MpmcRing, hands_over_every_item_once_from_many_to_one) {
  run_threads(4, 1, 16, 20000);
}
TEST(MpmcRing, hands_over_every_item_once_from_many_to_many) {
  run_threads(4, 4, 8, 20000);
}
TEST(MpmcRing, hands_over_every_item_once_through_the_smallest_ring) {
  run_threads(3, 3, 2, 10000);
}

}  // namespace
}  // namespace longhaul::base
