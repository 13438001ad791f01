// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <new>

#include "lib/crypto/credentials.hpp"
#include "lib/crypto/keyed_hash.hpp"
#include "tests/unit/wire/bytes.hpp"

namespace longhaul::crypto {
namespace {

const std::string kDigits = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";
const std::string kLine = "longhaul-psk-1 node-a " + kDigits;
const std::string kTwoLines = kLine + "\n" + kLine;

std::string refusal(std::string_view text) {
  const Result<PskKey> key = PskKey::parse(text);
  if (key) return "taken";
  EXPECT_EQ(key.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(key.error().context.find("; a key file has one line"), std::string::npos);
  return key.error().context.substr(0, key.error().context.find(';'));
}

TEST(PskKey, reads_its_line) {
  const Result<PskKey> key = PskKey::parse(kLine);
  ASSERT_TRUE(key);
  EXPECT_EQ(key->identity, "node-a");
  for (std::size_t i = 0; i < Secret::kBytes; ++i) {
    EXPECT_EQ(key->secret.bytes()[i], static_cast<std::byte>(i));
  }
}

TEST(PskKey, skips_comments_and_empty_lines_and_foreign_line_ends) {
  EXPECT_TRUE(PskKey::parse("# made today\r\n\r\n \t" + kLine + " \r\n\n  # end"));
  EXPECT_TRUE(PskKey::parse("longhaul-psk-1\tnode-a\t" + kDigits + "\n"));
}

TEST(PskKey, passes_over_the_mark_some_editors_put_in_front) {
  EXPECT_TRUE(PskKey::parse("\xef\xbb\xbf" + kLine));
  EXPECT_TRUE(PskKey::parse("\xef\xbb\xbf# made today\r\n" + kLine + "\r\n"));
  EXPECT_EQ(refusal("\xef\xbb\xbf\xef\xbb\xbf" + kLine), "no longhaul-psk-1 in line 1 of the key");
  for (const char* mark : {"\xff\xfe", "\xfe\xff"}) {
    EXPECT_TRUE(refusal(mark + kLine).starts_with("UTF-16, as some editors save it"));
  }
}

TEST(PskKey, says_where_a_text_is_no_key) {
  EXPECT_EQ(refusal(""), "no key in it");
  EXPECT_EQ(refusal("# only a comment\n"), "no key in it");
  EXPECT_EQ(refusal("\nssh-ed25519 AAAA"), "no longhaul-psk-1 in line 2 of the key");
  EXPECT_EQ(refusal(std::string(100'000, 'x')), "no longhaul-psk-1 in line 1 of the key");
  const std::string bad_name =
      "a name that is not 1 to 64 of A-Z a-z 0-9 . _ - in line 1 of the key";
  EXPECT_EQ(refusal("longhaul-psk-1"), bad_name);
  EXPECT_EQ(refusal("longhaul-psk-1 node/a " + kDigits), bad_name);
  EXPECT_EQ(refusal("longhaul-psk-1 " + std::string(65, 'a') + " " + kDigits), bad_name);
  EXPECT_EQ(refusal("longhaul-psk-1 " + std::string(64, 'a') + " " + kDigits), "taken");
  const std::string bad_digits = "not 64 hexadecimal digits in line 1 of the key";
  EXPECT_EQ(refusal("longhaul-psk-1 node-a"), bad_digits);
  EXPECT_EQ(refusal("longhaul-psk-1 node-a " + kDigits.substr(1)), bad_digits);
  EXPECT_EQ(refusal("longhaul-psk-1 node-a " + kDigits + "0"), bad_digits);
  EXPECT_EQ(refusal("longhaul-psk-1 node-a g" + kDigits.substr(1)), bad_digits);
  EXPECT_EQ(refusal(kLine + " more"), "more than name and digits in line 1 of the key");
  EXPECT_EQ(refusal(kTwoLines), "a second key in line 2");
}

TEST(PskKey, never_shows_its_digits_in_an_error) {
  for (const std::string& text : {"longhaul-psk-1 node-a " + kDigits + "0", kLine + " more",
                                  kTwoLines, "longhaul-psk-1 " + kDigits + " node-a"}) {
    EXPECT_EQ(PskKey::parse(text).error().context.find(kDigits.substr(0, 8)), std::string::npos);
  }
}

TEST(PskKey, generates_keys_that_it_reads_again) {
  const Result<PskKey> made = PskKey::generate("site.b_7");
  ASSERT_TRUE(made);
  const Result<PskKey> read = PskKey::parse(made->text());
  ASSERT_TRUE(read) << made->text();
  EXPECT_EQ(read->identity, "site.b_7");
  EXPECT_TRUE(equal_in_constant_time(read->secret.bytes(), made->secret.bytes()));
  const Result<PskKey> other = PskKey::generate("site.b_7");
  EXPECT_FALSE(equal_in_constant_time(other->secret.bytes(), made->secret.bytes()));
  EXPECT_FALSE(PskKey::generate("two words"));
  EXPECT_FALSE(PskKey::generate(""));
}

TEST(Secret, is_wiped_when_it_goes) {
  alignas(Secret) std::array<std::byte, sizeof(Secret)> memory;
  auto* const secret = new (memory.data()) Secret;
  std::ranges::fill(secret->writable(), std::byte{0xaa});
  EXPECT_EQ(memory[31], std::byte{0xaa});
  secret->~Secret();
  // Read through a pointer the compiler cannot follow to the dead object.
  const volatile std::byte* const left = memory.data();
  for (std::size_t i = 0; i < memory.size(); ++i) EXPECT_TRUE(left[i] == std::byte{0}) << i;
}

}  // namespace
}  // namespace longhaul::crypto
