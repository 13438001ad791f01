// SPDX-License-Identifier: Apache-2.0
#include "lib/base/interval_set.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "lib/base/random.hpp"

namespace longhaul::base {
namespace {

constexpr std::uint64_t kTop = std::numeric_limits<std::uint64_t>::max();

// The specification: a plain set of numbers. Slow and obvious.
class Model {
 public:
  std::uint64_t insert(std::uint64_t begin, std::uint64_t end) {
    std::uint64_t added = 0;
    for (std::uint64_t i = begin; i < end; ++i) added += numbers_.insert(i).second ? 1u : 0u;
    return added;
  }
  std::uint64_t erase(std::uint64_t begin, std::uint64_t end) {
    std::uint64_t removed = 0;
    for (std::uint64_t i = begin; i < end; ++i) removed += numbers_.erase(i);
    return removed;
  }
  void clear() { numbers_.clear(); }
  bool contains(std::uint64_t value) const { return numbers_.contains(value); }
  bool covers(std::uint64_t begin, std::uint64_t end) const {
    for (std::uint64_t i = begin; i < end; ++i) {
      if (!contains(i)) return false;
    }
    return true;
  }
  bool intersects(std::uint64_t begin, std::uint64_t end) const {
    for (std::uint64_t i = begin; i < end; ++i) {
      if (contains(i)) return true;
    }
    return false;
  }
  std::uint64_t first_missing(std::uint64_t from) const {
    while (contains(from)) ++from;
    return from;
  }
  Interval containing(std::uint64_t value) const {
    Interval found{value, first_missing(value)};
    while (found.end > value && found.begin > 0 && contains(found.begin - 1)) --found.begin;
    return found;
  }
  Interval next_gap(std::uint64_t from, std::uint64_t limit) const {
    const std::uint64_t begin = first_missing(from);
    if (begin >= limit) return {limit, limit};
    std::uint64_t end = begin;
    while (end < limit && !contains(end)) ++end;
    return {begin, end};
  }
  std::vector<Interval> intervals() const {
    std::vector<Interval> result;
    for (const std::uint64_t number : numbers_) {
      if (result.empty() || result.back().end != number) result.push_back({number, number});
      ++result.back().end;
    }
    return result;
  }
  std::uint64_t total() const { return numbers_.size(); }

 private:
  std::set<std::uint64_t> numbers_;
};

// Numbers come from [base, base + width).
void compare(const IntervalSet& set, const Model& model, std::uint64_t base, std::uint64_t width,
             Random& random) {
  const auto intervals = set.intervals();
  ASSERT_EQ(std::vector(intervals.begin(), intervals.end()), model.intervals());
  ASSERT_EQ(set.total(), model.total());
  ASSERT_EQ(set.empty(), model.total() == 0);
  for (int i = 0; i < 8; ++i) {
    const std::uint64_t a = base + random.below(width);
    const std::uint64_t b = base + random.below(width);
    ASSERT_EQ(set.contains(a), model.contains(a)) << a;
    ASSERT_EQ(set.covers(a, b), model.covers(a, b)) << a << ' ' << b;
    ASSERT_EQ(set.intersects(a, b), model.intersects(a, b)) << a << ' ' << b;
    ASSERT_EQ(set.containing(a), model.containing(a)) << a;
    ASSERT_EQ(set.first_missing(a), model.first_missing(a)) << a;
    ASSERT_EQ(set.next_gap(a, b), model.next_gap(a, b)) << a << ' ' << b;
  }
}

void run_against_model(std::uint64_t seed, std::uint64_t base, std::uint64_t width,
                       std::uint64_t length_max) {
  Random random(seed);
  IntervalSet set;
  Model model;
  for (int step = 0; step < 4000; ++step) {
    const std::uint64_t begin = base + random.below(width);
    const std::uint64_t end = std::min(begin + random.below(length_max), base + width - 1);
    const std::uint64_t what = random.below(200);
    if (what == 0) {
      set.clear();
      model.clear();
    } else if (what < 110) {
      ASSERT_EQ(set.insert(begin, end), model.insert(begin, end)) << begin << ' ' << end;
    } else {
      ASSERT_EQ(set.erase(begin, end), model.erase(begin, end)) << begin << ' ' << end;
    }
    ASSERT_NO_FATAL_FAILURE(compare(set, model, base, width, random)) << "step " << step;
  }
}

TEST(IntervalSet, agrees_with_a_set_of_numbers_from_zero) {
  run_against_model(1, 0, 120, 12);
}
TEST(IntervalSet, agrees_with_a_set_of_numbers_when_ranges_are_long) {
  run_against_model(2, 0, 160, 90);
}
TEST(IntervalSet, agrees_with_a_set_of_numbers_when_ranges_are_single) {
  run_against_model(3, 1000, 60, 3);
}
TEST(IntervalSet, agrees_with_a_set_of_numbers_across_32_bits) {
  run_against_model(4, (1ULL << 32) - 60, 120, 12);
}
TEST(IntervalSet, agrees_with_a_set_of_numbers_up_to_the_largest) {
  run_against_model(5, kTop - 119, 120, 12);
}

TEST(IntervalSet, the_largest_number_is_in_no_half_open_range) {
  IntervalSet set;
  EXPECT_EQ(set.insert(0, kTop), kTop);
  EXPECT_TRUE(set.contains(kTop - 1));
  EXPECT_FALSE(set.contains(kTop));
  EXPECT_EQ(set.containing(kTop), (Interval{kTop, kTop}));
  EXPECT_EQ(set.first_missing(0), kTop);
  EXPECT_EQ(set.first_missing(kTop), kTop);
  EXPECT_EQ(set.next_gap(5, kTop), (Interval{kTop, kTop}));
  EXPECT_EQ(set.erase(1, kTop), kTop - 1);
  EXPECT_EQ(set.total(), 1u);
}

TEST(IntervalSet, empty_and_reversed_ranges_change_nothing) {
  IntervalSet set;
  set.insert(10, 20);
  EXPECT_EQ(set.insert(15, 15), 0u);
  EXPECT_EQ(set.insert(30, 5), 0u);
  EXPECT_EQ(set.erase(15, 15), 0u);
  EXPECT_EQ(set.erase(18, 12), 0u);
  EXPECT_TRUE(set.covers(99, 99));
  EXPECT_FALSE(set.intersects(15, 15));
  EXPECT_EQ(set.total(), 10u);
}

}  // namespace
}  // namespace longhaul::base
