// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "lib/crypto/credentials.hpp"

namespace longhaul::crypto {
namespace {

const std::string kPlain = "00ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e";
const std::string kColons =
    "00:ff:01:02:03:04:05:06:07:08:09:0a:0b:0c:0d:0e:0f:10:11:12:13:14:15:16:17:18:19:1a:1b:1c:1d:"
    "1e";

TEST(Fingerprint, is_read_in_every_usual_form) {
  const Result<Fingerprint> plain = parse_fingerprint(kPlain);
  ASSERT_TRUE(plain);
  EXPECT_EQ((*plain)[1], std::byte{0xff});
  std::string upper = kColons;
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const std::string& text : {kColons, upper, "sha256:" + kPlain, "sha256:" + kColons}) {
    const Result<Fingerprint> read = parse_fingerprint(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(*read, *plain) << text;
  }
  EXPECT_EQ(to_string(*plain), kColons);
}

TEST(Fingerprint, is_nothing_else) {
  for (const std::string& text :
       {std::string(), kPlain.substr(2), kPlain + "00", kPlain.substr(1) + "g", kColons + ":",
        ":" + kColons, kColons.substr(3), "00ff:" + kColons.substr(6), "sha1:" + kPlain,
        std::string(100'000, '0'), std::string(95, ':')}) {
    const Result<Fingerprint> read = parse_fingerprint(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(read.error().context.find("openssl x509"), std::string::npos) << "the remedy";
  }
}

}  // namespace
}  // namespace longhaul::crypto
