// SPDX-License-Identifier: Apache-2.0
#include "lib/endpoint/address_validation.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace longhaul::endpoint {
namespace {

using std::chrono::seconds;

struct AddressValidationTest : testing::Test {
  static constexpr std::array<std::byte, 32> kKey{std::byte{1}};
  AddressValidation validation{kKey};
  SocketAddress client = *SocketAddress::parse("192.0.2.1", 5000);
  Timestamp now = Timestamp{} + std::chrono::hours(5);
  AddressValidation::Token token = validation.issue(now, client, 42);

  bool accepts(const SocketAddress& from, std::uint64_t attempt, Timestamp when) const {
    return validation.accepts(when, from, attempt, token);
  }
};

TEST_F(AddressValidationTest, a_token_is_good_for_its_address_and_attempt) {
  EXPECT_TRUE(accepts(client, 42, now));
  EXPECT_TRUE(accepts(client, 42, now + seconds(5)));
}

TEST_F(AddressValidationTest, another_address_port_or_attempt_is_not_accepted) {
  EXPECT_FALSE(accepts(*SocketAddress::parse("192.0.2.2", 5000), 42, now));
  EXPECT_FALSE(accepts(*SocketAddress::parse("192.0.2.1", 5001), 42, now));
  EXPECT_FALSE(accepts(client, 43, now));
}

TEST_F(AddressValidationTest, the_same_bytes_in_another_family_are_another_address) {
  SocketAddress other = client;
  other.family = AddressFamily::ipv6;
  EXPECT_FALSE(accepts(other, 42, now));
}

TEST_F(AddressValidationTest, a_token_ages_and_none_comes_from_the_future) {
  EXPECT_FALSE(accepts(client, 42, now + seconds(31)));
  EXPECT_FALSE(accepts(client, 42, now - seconds(1)));
}

TEST_F(AddressValidationTest, every_bit_counts) {
  for (std::size_t bit = 0; bit < 8 * token.size(); ++bit) {
    auto forged = token;
    forged[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    ASSERT_FALSE(validation.accepts(now, client, 42, forged)) << bit;
  }
}

TEST_F(AddressValidationTest, a_token_of_another_size_or_of_another_key_is_not_accepted) {
  EXPECT_FALSE(validation.accepts(now, client, 42, {}));
  EXPECT_FALSE(validation.accepts(now, client, 42, std::span(token).first(23)));
  std::vector<std::byte> longer(token.begin(), token.end());
  longer.push_back({});
  EXPECT_FALSE(validation.accepts(now, client, 42, longer));
  constexpr std::array<std::byte, 32> kOther{std::byte{2}};
  EXPECT_FALSE(AddressValidation(kOther).accepts(now, client, 42, token));
}

TEST_F(AddressValidationTest, no_time_a_forger_may_write_does_harm) {
  for (const std::byte first : {std::byte{0x7f}, std::byte{0x80}, std::byte{0xff}}) {
    auto forged = token;
    std::fill_n(forged.begin(), 8, std::byte{0xff});
    forged[0] = first;
    EXPECT_FALSE(validation.accepts(now, client, 42, forged));
  }
}

}  // namespace
}  // namespace longhaul::endpoint
