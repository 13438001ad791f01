// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/keyed_hash.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/wire/bytes.hpp"

namespace longhaul::crypto {
namespace {

using wire::test::Bytes;
using wire::test::hex;

Bytes tag_of(std::string_view key, const Bytes& message) {
  const KeyedHash::Tag tag = KeyedHash(key)(message);
  return {tag.begin(), tag.end()};
}

TEST(KeyedHash, is_hmac_sha256_under_the_hash_of_the_key) {
  // From Python's hmac: HMAC-SHA256(SHA-256(key), message), first 16 bytes.
  EXPECT_EQ(tag_of("stateless reset key", hex("01020304")),
            hex("de6e49f0a8fc9b22855afb5e0c0b949c"));
  EXPECT_EQ(tag_of("", {}), hex("bfe4527091e7291c5b9a9359c579a973"));
  EXPECT_EQ(tag_of(std::string(200, 'k'), Bytes(300, std::byte{'m'})),
            hex("b232c078380bb17bdc3d4d4359919b99"));
}

TEST(KeyedHash, remembers_nothing_of_the_message_before) {
  const KeyedHash hash("stateless reset key");
  const KeyedHash::Tag first = hash(hex("01020304"));
  EXPECT_NE(hash(hex("0102030405")), first);
  EXPECT_EQ(hash(hex("01020304")), first);
}

TEST(KeyedHash, takes_keys_as_text_and_as_bytes_alike) {
  const Bytes key = hex("6b6579");
  const Bytes message = hex("00ff");
  EXPECT_EQ(KeyedHash("key")(message), KeyedHash(std::span<const std::byte>(key))(message));
  EXPECT_NE(KeyedHash("key")(message), KeyedHash("kez")(message));
}

TEST(ConstantTime, compares_sizes_and_every_byte) {
  const Bytes a = hex("000102030405060708090a0b0c0d0e0f");
  EXPECT_TRUE(equal_in_constant_time(a, a));
  EXPECT_TRUE(equal_in_constant_time({}, {}));
  EXPECT_FALSE(equal_in_constant_time(a, std::span(a).first(15)));
  for (std::size_t i = 0; i < a.size(); ++i) {
    Bytes b = a;
    b[i] ^= std::byte{0x80};
    EXPECT_FALSE(equal_in_constant_time(a, b)) << i;
  }
}

}  // namespace
}  // namespace longhaul::crypto
