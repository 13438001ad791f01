// SPDX-License-Identifier: Apache-2.0
#include "lib/base/fifo.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "lib/base/random.hpp"

namespace longhaul::base {
namespace {

TEST(Fifo, AgreesWithADequeUnderRandomUse) {
  Random random(7);
  Fifo<std::uint64_t> fifo;
  std::deque<std::uint64_t> expected;
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t what = random.below(100);
    if (what < 10) {
      fifo.push_front(what + static_cast<std::uint64_t>(i));
      expected.push_front(what + static_cast<std::uint64_t>(i));
    } else if (what < 55) {
      fifo.push_back(what + static_cast<std::uint64_t>(i));
      expected.push_back(what + static_cast<std::uint64_t>(i));
    } else if (!expected.empty() && what < 90) {
      fifo.pop_front();
      expected.pop_front();
    } else if (!expected.empty()) {
      fifo.pop_back();
      expected.pop_back();
    }
    ASSERT_EQ(fifo.size(), expected.size());
    if (expected.empty()) continue;
    ASSERT_EQ(fifo.front(), expected.front());
    ASSERT_EQ(fifo.back(), expected.back());
    const std::size_t at = random.below(expected.size());
    ASSERT_EQ(fifo[at], expected[at]);
  }
}

struct Item {
  std::uint64_t key;
  std::uint64_t serial;
};

TEST(Fifo, InsertsInOrderAndBehindEqualKeys) {
  Random random(8);
  Fifo<Item> fifo;
  std::vector<Item> expected;
  const auto less = [](const Item& a, const Item& b) { return a.key < b.key; };
  for (std::uint64_t serial = 0; serial < 500; ++serial) {
    const Item item{random.below(50), serial};
    fifo.insert_ordered(item, less);
    expected.push_back(item);
    if (serial % 7 == 6) {
      std::stable_sort(expected.begin(), expected.end(), less);
      ASSERT_EQ(fifo.front().serial, expected.front().serial);
      fifo.pop_front();
      expected.erase(expected.begin());
    }
  }
  std::stable_sort(expected.begin(), expected.end(), less);
  ASSERT_EQ(fifo.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(fifo[i].key, expected[i].key);
    EXPECT_EQ(fifo[i].serial, expected[i].serial);
  }
}

}  // namespace
}  // namespace longhaul::base
