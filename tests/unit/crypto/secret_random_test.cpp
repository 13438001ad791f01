// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/secret_random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/unit/wire/bytes.hpp"

namespace longhaul::crypto {
namespace {

using wire::test::Bytes;
using wire::test::hex;

Bytes drawn(SecretRandom& random, std::size_t bytes) {
  Bytes result(bytes);
  random.fill(result);
  return result;
}

TEST(SecretRandom, is_aes_256_ctr_whose_first_bytes_are_the_next_key) {
  // From `openssl enc -aes-256-ctr` over 256 zeros with key 00 01 … 1f: bytes 32 to 47; then the
  // same with bytes 0 to 31 of that as the key.
  std::array<std::byte, Secret::kBytes> key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i);
  SecretRandom random{Secret(key)};
  const Bytes first = drawn(random, 224);
  const Bytes second = drawn(random, 16);
  EXPECT_EQ(Bytes(first.begin(), first.begin() + 16), hex("0ebcb5deb52c83bd08a8a935182c9199"));
  EXPECT_EQ(second, hex("9720e40516407d2c249a9b756a46f71a"));
}

TEST(SecretRandom, gives_the_same_whatever_is_asked_for_at_a_time) {
  const Secret entropy = simulated_entropy(1);
  SecretRandom one(entropy);
  const Bytes all = drawn(one, 3000);
  SecretRandom other(entropy);
  Bytes pieces;
  for (std::size_t size = 0; pieces.size() < all.size(); ++size) {
    const Bytes piece = drawn(other, std::min(size, all.size() - pieces.size()));
    pieces.insert(pieces.end(), piece.begin(), piece.end());
  }
  EXPECT_EQ(all, pieces);
}

TEST(SecretRandom, makes_numbers_and_secrets_of_the_same_bytes) {
  const Secret entropy = simulated_entropy(1);
  SecretRandom one(entropy);
  SecretRandom other(entropy);
  const Bytes bytes = drawn(one, 8 + Secret::kBytes);
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i)
    number = number << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  EXPECT_EQ(other.next(), number);
  EXPECT_TRUE(std::ranges::equal(other.secret().bytes(), std::span(bytes).subspan(8)));
}

TEST(SecretRandom, never_says_the_same_twice) {
  SecretRandom random(simulated_entropy(1));
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 100'000; ++i) seen.insert(random.next());
  EXPECT_EQ(seen.size(), 100'000u);
}

TEST(SecretRandom, differs_wherever_its_entropy_does) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 1000; ++seed)
    firsts.insert(SecretRandom(simulated_entropy(seed)).next());
  EXPECT_EQ(firsts.size(), 1000u);
  EXPECT_EQ(SecretRandom(simulated_entropy(5)).next(), SecretRandom(simulated_entropy(5)).next());
}

}  // namespace
}  // namespace longhaul::crypto
