// SPDX-License-Identifier: Apache-2.0
#include "lib/path/path_validator.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <vector>

#include "tests/support/seeded_source.hpp"

namespace longhaul::path {
namespace {

using std::chrono::milliseconds;

constexpr Duration kPto = milliseconds(100);

struct PathValidatorTest : testing::Test {
  PathValidator validator;
  tests::SeededSource random{1};
  Timestamp now = Timestamp{} + std::chrono::seconds(1);
  SocketAddress home = *SocketAddress::parse("192.0.2.9", 1);
  SocketAddress somewhere = *SocketAddress::parse("192.0.2.1", 1);
  SocketAddress elsewhere = *SocketAddress::parse("192.0.2.2", 1);

  void hear_from(const SocketAddress& address, std::size_t bytes = 1200) {
    validator.on_new_address(now, address, home, bytes, kPto, random);
  }
  std::map<SocketAddress, std::vector<std::uint64_t>> challenges() {
    std::map<SocketAddress, std::vector<std::uint64_t>> result;
    while (const auto challenge = validator.poll_challenge(now, 26))
      result[challenge->to].push_back(challenge->data);
    return result;
  }
  /// Goes on until nothing is under way; `each` sees every moment something is due at.
  void let_pass(const std::function<void()>& each) {
    for (int i = 0; i < 100 && validator.next_timeout() != kNever; ++i) {
      now = std::max(now, validator.next_timeout());
      each();
    }
  }
};

TEST_F(PathValidatorTest, without_a_new_address_there_is_nothing_to_do) {
  EXPECT_EQ(validator.next_timeout(), kNever);
  EXPECT_TRUE(challenges().empty());
  validator.on_response(now, somewhere, 0);
  EXPECT_FALSE(validator.take_decision(now).has_value());
}

TEST_F(PathValidatorTest, an_address_that_answers_is_taken_two_pto_after_home_fell_silent) {
  hear_from(somewhere);
  EXPECT_EQ(validator.next_timeout(), now);
  const auto asked = challenges();
  ASSERT_EQ(asked.size(), 2u);
  const std::uint64_t data = asked.at(somewhere).front();
  EXPECT_NE(data, asked.at(home).front());
  validator.on_response(now, somewhere, data);
  EXPECT_FALSE(validator.take_decision(now).has_value()) << "home may still answer";
  std::size_t to_home = asked.at(home).size();
  const Timestamp begin = now;
  let_pass([&] {
    if (validator.take_decision(now) == somewhere) return;
    for (const auto& [to, all] : challenges()) {
      EXPECT_EQ(to, home) << "the other has answered";
      to_home += all.size();
    }
  });
  EXPECT_EQ(now - begin, 2 * kPto);
  EXPECT_EQ(to_home, 3u);
  EXPECT_EQ(validator.next_timeout(), kNever);
  validator.on_response(now, somewhere, data);
  EXPECT_FALSE(validator.take_decision(now).has_value());
}

TEST_F(PathValidatorTest, an_answer_that_comes_late_is_taken_at_once) {
  hear_from(somewhere);
  const std::uint64_t data = challenges().at(somewhere).front();
  now += 3 * kPto;
  validator.on_response(now, somewhere, data);
  EXPECT_EQ(validator.take_decision(now), somewhere);
}

TEST_F(PathValidatorTest, another_answer_or_one_from_elsewhere_confirms_nothing) {
  hear_from(somewhere);
  const std::uint64_t data = challenges().at(somewhere).front();
  now += 2 * kPto;
  for (const std::uint64_t wrong : {std::uint64_t{0}, data + 1, ~data})
    validator.on_response(now, somewhere, wrong);
  validator.on_response(now, elsewhere, data);
  validator.on_response(now, home, data);
  EXPECT_FALSE(validator.take_decision(now).has_value());
  validator.on_response(now, somewhere, data);
  EXPECT_EQ(validator.take_decision(now), somewhere);
}

TEST_F(PathValidatorTest, an_answer_nobody_asked_for_yet_confirms_nothing) {
  hear_from(somewhere);
  tests::SeededSource same(1);
  const std::array drawn{same.next(), same.next()};
  for (const std::uint64_t data : drawn) validator.on_response(now, somewhere, data);
  now += 2 * kPto;
  EXPECT_FALSE(validator.take_decision(now).has_value());
  EXPECT_EQ(challenges().size(), 2u) << "neither question is settled";
}

TEST_F(PathValidatorTest, while_home_answers_nobody_is_followed_whoever_brings_the_answer) {
  for (const SocketAddress& carrier : {home, somewhere, elsewhere}) {
    hear_from(somewhere);
    const auto asked = challenges();
    validator.on_response(now, somewhere, asked.at(somewhere).front());
    validator.on_response(now, carrier, asked.at(home).front());
    EXPECT_EQ(validator.next_timeout(), kNever);
    EXPECT_FALSE(validator.take_decision(now + 2 * kPto).has_value());
    // And for a while nobody else is asked.
    hear_from(elsewhere);
    EXPECT_TRUE(challenges().empty());
    now += std::chrono::seconds(1);
    hear_from(elsewhere);
    EXPECT_EQ(challenges().size(), 2u);
    let_pass([&] { (void)challenges(); });
  }
}

TEST_F(PathValidatorTest, the_challenge_is_repeated_a_few_times_and_then_given_up) {
  hear_from(somewhere);
  std::size_t there = 0;
  let_pass([&] {
    const auto asked = challenges();
    if (asked.contains(somewhere)) there += asked.at(somewhere).size();
  });
  EXPECT_EQ(there, 5u);
  EXPECT_EQ(validator.next_timeout(), kNever);
  hear_from(somewhere);  // it speaks again
  EXPECT_EQ(challenges().size(), 2u);
}

TEST_F(PathValidatorTest, never_more_than_three_times_what_was_heard_is_said) {
  std::size_t said = 0;
  const auto go_on = [&] {
    for (int i = 0; i < 50; ++i, now += kPto) {
      const auto asked = challenges();
      if (asked.contains(somewhere)) said += 26 * asked.at(somewhere).size();
    }
  };
  hear_from(somewhere, 20);
  go_on();
  EXPECT_EQ(said, 52u);
  hear_from(somewhere, 20);
  go_on();
  EXPECT_EQ(said, 104u);
}

TEST_F(PathValidatorTest, an_address_that_may_not_be_answered_is_given_up_too) {
  hear_from(somewhere, 5);
  let_pass([&] { EXPECT_FALSE(challenges().contains(somewhere)); });
  EXPECT_EQ(validator.next_timeout(), kNever);
}

TEST_F(PathValidatorTest, the_newest_address_is_the_one_that_counts) {
  hear_from(somewhere);
  const std::uint64_t first = challenges().at(somewhere).front();
  hear_from(elsewhere);
  const auto asked = challenges();
  ASSERT_EQ(asked.size(), 1u) << "home has just been asked";
  const std::uint64_t second = asked.at(elsewhere).front();
  EXPECT_NE(first, second);
  now += 2 * kPto;
  validator.on_response(now, somewhere, first);
  EXPECT_FALSE(validator.take_decision(now).has_value());
  validator.on_response(now, elsewhere, second);
  EXPECT_EQ(validator.take_decision(now), elsewhere);
}

TEST_F(PathValidatorTest, a_thousand_addresses_do_not_make_home_be_asked_a_thousand_times) {
  std::size_t to_home = 0;
  const Timestamp begin = now;
  for (std::uint16_t port = 1; port <= 1000; ++port, now += milliseconds(1)) {
    hear_from(*SocketAddress::parse("192.0.2.1", port));
    const auto asked = challenges();
    if (asked.contains(home)) to_home += asked.at(home).size();
  }
  EXPECT_LE(to_home, 3 * ((now - begin) / (2 * kPto) + 1));
  EXPECT_GT(to_home, 6u) << "but it is asked anew";
}

}  // namespace
}  // namespace longhaul::path
