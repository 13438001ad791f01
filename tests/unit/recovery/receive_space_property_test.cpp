// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "lib/base/random.hpp"
#include "lib/recovery/receive_space.hpp"

namespace longhaul::recovery {
namespace {

using std::chrono::microseconds;

// What a report claims to have been received.
std::set<std::uint64_t> claimed(const wire::Ack& ack) {
  std::set<std::uint64_t> result;
  std::uint64_t from = ack.floor;
  for (const wire::Gap& gap : ack.gaps) {
    for (; from < gap.first; ++from) result.insert(from);
    from = gap.first + gap.length;
  }
  for (; from <= ack.largest; ++from) result.insert(from);
  return result;
}

void expect_well_formed(const wire::Ack& ack) {
  ASSERT_LE(ack.floor, ack.largest);
  std::uint64_t from = ack.floor;
  bool first = true;
  for (const wire::Gap& gap : ack.gaps) {
    ASSERT_GT(gap.length, 0u);
    ASSERT_TRUE(first ? gap.first >= from : gap.first > from);
    first = false;
    from = gap.first + gap.length;
  }
  ASSERT_LE(from, ack.largest);  // the largest is in no gap
}

struct Model {
  ReceiveSpace space;
  std::set<std::uint64_t> received;
  std::set<std::uint64_t> told;
  std::uint64_t floor = 0;

  void arrive(Timestamp now, std::uint64_t number, bool eliciting) {
    const bool fresh = number >= floor && !received.contains(number);
    ASSERT_EQ(space.is_new(number), fresh) << number;
    if (!fresh) return;
    space.on_received(now, {number, 1000, {}, eliciting, false}, {});
    received.insert(number);
  }
  void report(Timestamp now) {
    wire::Ack ack;
    space.begin_ack(now, ack);
    space.end_ack(now);
    expect_well_formed(ack);
    ASSERT_EQ(ack.largest, *received.rbegin());
    for (const std::uint64_t number : claimed(ack)) {
      ASSERT_TRUE(received.contains(number)) << number << " was never received";
      told.insert(number);
    }
    ASSERT_EQ(ack.packets, received.size());
  }
};

void run(std::uint64_t seed) {
  base::Random random(seed);
  Model model;
  Timestamp now = Timestamp{} + std::chrono::seconds(1);
  const std::uint64_t spread = 1 + random.below(300);
  for (std::uint64_t step = 0; step < 1000; ++step) {
    now += microseconds(random.below(30));
    const std::uint64_t number = step + random.below(spread);
    model.arrive(now, number, random.below(4) != 0);
    if (testing::Test::HasFatalFailure()) return;
    if (model.space.ack_due() <= now && !model.received.empty()) model.report(now);
    if (random.below(100) == 0) {
      const std::uint64_t floor = step - random.below(step + 1);
      model.space.set_floor(floor);
      const bool valid = !model.received.empty() && floor <= *model.received.rbegin() + 1;
      if (valid) model.floor = std::max(model.floor, floor);
    }
  }
  // Eight more reports tell all there is above the floor.
  for (int i = 0; i < 8; ++i) model.report(now);
  for (const std::uint64_t number : model.received)
    if (number >= model.floor) {
      ASSERT_TRUE(model.told.contains(number)) << number << " was never told";
    }
}

TEST(receive_space_property, no_report_claims_a_number_that_was_not_received) {
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    run(seed);
    if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace longhaul::recovery
