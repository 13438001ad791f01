// SPDX-License-Identifier: Apache-2.0
#include "lib/endpoint/agenda.hpp"

#include <gtest/gtest.h>

#include <set>

#include "lib/base/random.hpp"

namespace longhaul::endpoint {
namespace {

Timestamp at(std::int64_t ns) {
  return Timestamp{} + Duration{ns};
}

struct AgendaTest : testing::Test {
  Agenda agenda;
  std::uint32_t cid = 0;

  void settle(std::uint32_t which, Timestamp next) {
    agenda.touch(which);
    ASSERT_EQ(agenda.front(), which);
    agenda.settle_front(next);
  }
};

TEST_F(AgendaTest, an_empty_agenda_wants_nothing) {
  EXPECT_FALSE(agenda.has_active());
  EXPECT_EQ(agenda.next(), kNever);
  EXPECT_FALSE(agenda.take_due(at(1'000'000), cid));
}

TEST_F(AgendaTest, what_something_happened_to_comes_at_once_and_once) {
  agenda.touch(7);
  agenda.touch(7);
  EXPECT_EQ(agenda.next(), Timestamp::min());
  agenda.settle_front(kNever);
  EXPECT_FALSE(agenda.has_active());
  EXPECT_EQ(agenda.next(), kNever);
}

TEST_F(AgendaTest, whose_time_has_come_is_taken_once) {
  settle(7, at(100));
  EXPECT_EQ(agenda.next(), at(100));
  EXPECT_FALSE(agenda.take_due(at(99), cid));
  ASSERT_TRUE(agenda.take_due(at(100), cid));
  EXPECT_EQ(cid, 7u);
  EXPECT_FALSE(agenda.take_due(at(100), cid));
}

TEST_F(AgendaTest, an_earlier_time_replaces_a_later_one) {
  settle(7, at(100));
  settle(7, at(50));
  ASSERT_TRUE(agenda.take_due(at(50), cid));
  EXPECT_FALSE(agenda.take_due(at(100), cid));
}

TEST_F(AgendaTest, a_later_time_replaces_an_earlier_one) {
  settle(7, at(50));
  settle(7, at(100));
  EXPECT_FALSE(agenda.take_due(at(50), cid));
  EXPECT_EQ(agenda.next(), at(100));
  ASSERT_TRUE(agenda.take_due(at(100), cid));
}

TEST_F(AgendaTest, a_time_that_is_taken_back_never_comes) {
  settle(7, at(50));
  settle(7, kNever);
  EXPECT_FALSE(agenda.take_due(at(1'000), cid));
  EXPECT_EQ(agenda.next(), kNever);
}

TEST_F(AgendaTest, what_is_forgotten_never_comes) {
  settle(7, at(50));
  agenda.touch(7);
  agenda.forget(7);
  EXPECT_FALSE(agenda.has_active());
  EXPECT_FALSE(agenda.take_due(at(50), cid));
}

TEST_F(AgendaTest, who_wants_more_than_there_was_room_for_lets_the_others_go_first) {
  for (const std::uint32_t each : {1u, 2u, 3u}) agenda.touch(each);
  std::vector<std::uint32_t> served;
  for (int i = 0; i < 6; ++i) {
    served.push_back(agenda.front());
    agenda.rotate();
  }
  EXPECT_EQ(served, (std::vector<std::uint32_t>{1, 2, 3, 1, 2, 3}));
}

TEST_F(AgendaTest, a_forgotten_one_is_not_served_wherever_it_stood) {
  for (const std::uint32_t each : {1u, 2u, 3u, 4u}) agenda.touch(each);
  agenda.forget(2);
  agenda.forget(4);
  EXPECT_EQ(agenda.front(), 1u);
  agenda.rotate();
  EXPECT_EQ(agenda.front(), 3u);
  agenda.settle_front(kNever);
  EXPECT_EQ(agenda.front(), 1u);
  agenda.settle_front(kNever);
  EXPECT_FALSE(agenda.has_active());
}

TEST(agenda_property, every_time_asked_for_last_comes_and_no_other) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    base::Random random(seed);
    Agenda agenda;
    std::map<std::uint32_t, Timestamp> wanted;
    for (std::int64_t now = 0; now < 5000; ++now) {
      std::uint32_t cid = 0;
      std::set<std::uint32_t> due;
      while (agenda.take_due(at(now), cid)) due.insert(cid);
      for (const auto& [each, time] : wanted)
        ASSERT_EQ(due.contains(each), time <= at(now)) << "seed " << seed << " at " << now;
      for (const std::uint32_t each : due) wanted.erase(each);
      if (random.below(3) != 0) continue;
      const auto each = static_cast<std::uint32_t>(random.below(10));
      agenda.touch(each);
      const Timestamp next =
          random.below(8) == 0 ? kNever : at(now + 1 + static_cast<std::int64_t>(random.below(60)));
      agenda.settle_front(next);
      wanted.erase(each);
      if (next != kNever) wanted[each] = next;
    }
  }
}

}  // namespace
}  // namespace longhaul::endpoint
