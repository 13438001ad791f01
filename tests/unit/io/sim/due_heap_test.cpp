// SPDX-License-Identifier: Apache-2.0
#include "lib/io/sim/due_heap.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "lib/base/random.hpp"

namespace longhaul::sim {
namespace {

TEST(DueHeap, AgreesWithASortedSetUnderRandomUse) {
  base::Random random(3);
  DueHeap heap;
  std::map<std::uint32_t, Timestamp> due;
  std::set<std::pair<Timestamp, std::uint32_t>> order;
  for (int i = 0; i < 50000; ++i) {
    const auto id = static_cast<std::uint32_t>(random.below(40));
    if (const auto found = due.find(id); found != due.end()) order.erase({found->second, id});
    due.erase(id);
    Timestamp time = kNever;
    if (random.below(4) != 0) {
      time = Timestamp{} + Duration{static_cast<std::int64_t>(random.below(30))};
      due[id] = time;
      order.emplace(time, id);
    }
    heap.set(id, time);
    ASSERT_EQ(heap.empty(), order.empty());
    if (order.empty()) continue;
    ASSERT_EQ(heap.first(), order.begin()->first);
    ASSERT_EQ(heap.first_id(), order.begin()->second);
    // Would another go before the first one if that were due at `later`?
    const Timestamp later = heap.first() + Duration{static_cast<std::int64_t>(random.below(10))};
    const bool expected =
        order.size() > 1 && *std::next(order.begin()) < std::pair(later, order.begin()->second);
    ASSERT_EQ(heap.another_before(later), expected);
  }
}

}  // namespace
}  // namespace longhaul::sim
