// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/key_schedule.hpp"

#include <gtest/gtest.h>

#include "tests/unit/wire/bytes.hpp"

namespace longhaul::crypto {
namespace {

using wire::test::Bytes;
using wire::test::hex;

Bytes expanded(const Bytes& key, const Bytes& info, std::size_t size) {
  Bytes out(size);
  hkdf_expand(key, {reinterpret_cast<const char*>(info.data()), info.size()}, out);
  return out;
}

Secret counting_secret() {
  Secret secret;
  for (std::size_t i = 0; i < Secret::kBytes; ++i) {
    secret.writable()[i] = static_cast<std::byte>(i);
  }
  return secret;
}

Bytes copy(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

TEST(KeySchedule, expands_as_rfc_5869_appendix_a_does) {
  EXPECT_EQ(expanded(hex("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5"),
                     hex("f0f1f2f3f4f5f6f7f8f9"), 42),
            hex("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b88718"
                "5865"));
  EXPECT_EQ(
      expanded(hex("19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04"), {}, 42),
      hex("8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a"
          "96c8"));
}

TEST(KeySchedule, derives_key_and_iv_by_their_labels) {
  // From Python's hmac: HMAC-SHA256(secret, label ‖ 01), cut.
  PacketKey aes;
  derive(counting_secret(), PacketCipher::aes_128_gcm, aes);
  EXPECT_EQ(copy(aes.key()), hex("5940971a751bb744463b120297f683b6"));
  EXPECT_EQ(copy(aes.iv), hex("67ce9f215517d33ebe7962bd"));
  PacketKey chacha;
  derive(counting_secret(), PacketCipher::chacha20_poly1305, chacha);
  EXPECT_EQ(copy(chacha.key()),
            hex("5940971a751bb744463b120297f683b6cbda51ce7991f75b4faa7f6739386b0b"));
  EXPECT_EQ(copy(chacha.iv), copy(aes.iv));
  EXPECT_EQ(copy(next_secret(counting_secret()).bytes()),
            hex("6caeb0a150f998c69e1fd86ee60869595ad146fb7fde1910a574d3683d028a45"));
}

}  // namespace
}  // namespace longhaul::crypto
