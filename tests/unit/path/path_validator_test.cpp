// SPDX-License-Identifier: Apache-2.0
#include "lib/path/path_validator.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/seeded_source.hpp"

namespace longhaul::path {
namespace {

using std::chrono::milliseconds;

constexpr Duration kPto = milliseconds(100);

struct PathValidatorTest : testing::Test {
  PathValidator validator;
  tests::SeededSource random{1};
  Timestamp now = Timestamp{} + std::chrono::seconds(1);
  SocketAddress somewhere = *SocketAddress::parse("192.0.2.1", 1);
  SocketAddress elsewhere = *SocketAddress::parse("192.0.2.2", 1);

  void hear_from(const SocketAddress& address, std::size_t bytes = 1200) {
    validator.on_new_address(now, address, bytes, kPto, random);
  }
};

TEST_F(PathValidatorTest, without_a_new_address_there_is_nothing_to_do) {
  EXPECT_EQ(validator.next_timeout(), kNever);
  EXPECT_FALSE(validator.poll_challenge(now, 26).has_value());
  EXPECT_FALSE(validator.on_response(0).has_value());
}

TEST_F(PathValidatorTest, a_new_address_is_challenged_there_and_its_answer_confirms_it) {
  hear_from(somewhere);
  EXPECT_EQ(validator.next_timeout(), now);
  const auto challenge = validator.poll_challenge(now, 26);
  ASSERT_TRUE(challenge.has_value());
  EXPECT_EQ(challenge->to, somewhere);
  EXPECT_EQ(validator.on_response(challenge->data), somewhere);
  EXPECT_EQ(validator.next_timeout(), kNever);
  EXPECT_FALSE(validator.on_response(challenge->data).has_value());
}

TEST_F(PathValidatorTest, another_answer_confirms_nothing) {
  hear_from(somewhere);
  EXPECT_FALSE(validator.on_response(0).has_value());
  const auto challenge = validator.poll_challenge(now, 26);
  EXPECT_FALSE(validator.on_response(challenge->data + 1).has_value());
  EXPECT_TRUE(validator.on_response(challenge->data).has_value());
}

TEST_F(PathValidatorTest, an_answer_nobody_asked_for_yet_confirms_nothing) {
  hear_from(somewhere);
  tests::SeededSource same(1);
  EXPECT_FALSE(validator.on_response(same.next()).has_value());
}

TEST_F(PathValidatorTest, the_challenge_is_repeated_a_few_times_and_then_given_up) {
  hear_from(somewhere);
  int challenges = 0;
  for (int i = 0; i < 100 && validator.next_timeout() != kNever; ++i) {
    now = std::max(now, validator.next_timeout());
    challenges += validator.poll_challenge(now, 26).has_value() ? 1 : 0;
  }
  EXPECT_EQ(challenges, 5);
  EXPECT_EQ(validator.next_timeout(), kNever);
  hear_from(somewhere);  // it speaks again
  EXPECT_TRUE(validator.poll_challenge(now, 26).has_value());
}

TEST_F(PathValidatorTest, never_more_than_three_times_what_was_heard_is_said) {
  hear_from(somewhere, 20);
  std::size_t said = 0;
  for (int i = 0; i < 50; ++i, now += kPto)
    if (validator.poll_challenge(now, 26)) said += 26;
  EXPECT_EQ(said, 52u);
  hear_from(somewhere, 20);
  for (int i = 0; i < 50; ++i, now += kPto)
    if (validator.poll_challenge(now, 26)) said += 26;
  EXPECT_EQ(said, 104u);
}

TEST_F(PathValidatorTest, an_address_that_may_not_be_answered_is_given_up_too) {
  hear_from(somewhere, 5);
  for (int i = 0; i < 100 && validator.next_timeout() != kNever; ++i) {
    now = std::max(now, validator.next_timeout());
    EXPECT_FALSE(validator.poll_challenge(now, 26).has_value());
  }
  EXPECT_EQ(validator.next_timeout(), kNever);
}

TEST_F(PathValidatorTest, the_newest_address_is_the_one_that_counts) {
  hear_from(somewhere);
  const auto first = validator.poll_challenge(now, 26);
  hear_from(elsewhere);
  const auto second = validator.poll_challenge(now, 26);
  EXPECT_EQ(second->to, elsewhere);
  EXPECT_NE(first->data, second->data);
  EXPECT_FALSE(validator.on_response(first->data).has_value());
  EXPECT_EQ(validator.on_response(second->data), elsewhere);
}

}  // namespace
}  // namespace longhaul::path
