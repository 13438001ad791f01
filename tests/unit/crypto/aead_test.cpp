// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/aead.hpp"

#include <gtest/gtest.h>

#include <string_view>

#include "tests/unit/crypto/aead_packets.hpp"

namespace longhaul::crypto {
namespace {

using test::Bytes;
using test::Choice;
using test::random_bytes;
using wire::test::hex;

struct Vector {
  PacketCipher cipher;
  std::string_view key, nonce, associated_data, plaintext, ciphertext, tag;
};
constexpr std::string_view kGcmText =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
constexpr std::string_view kGcmCipher =
    "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
    "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091";
// Test cases 1, 2 and 4 of the GCM specification (McGrew, Viega), and RFC 8439 §2.8.2.
constexpr Vector kVectors[] = {
    {PacketCipher::aes_128_gcm, "00000000000000000000000000000000", "000000000000000000000000", "",
     "", "", "58e2fccefa7e3061367f1d57a4e7455a"},
    {PacketCipher::aes_128_gcm, "00000000000000000000000000000000", "000000000000000000000000", "",
     "00000000000000000000000000000000", "0388dace60b6a392f328c2b971b2fe78",
     "ab6e47d42cec13bdf53a67b21257bddf"},
    {PacketCipher::aes_128_gcm, "feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
     "feedfacedeadbeeffeedfacedeadbeefabaddad2", kGcmText, kGcmCipher,
     "5bc94fbc3221a5db94fae95ae7121a47"},
    {PacketCipher::chacha20_poly1305,
     "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f", "070000004041424344454647",
     "50515253c0c1c2c3c4c5c6c7",
     "4c616469657320616e642047656e746c656d656e206f662074686520636c6173"
     "73206f66202739393a204966204920636f756c64206f6666657220796f75206f"
     "6e6c79206f6e652074697020666f7220746865206675747572652c2073756e73"
     "637265656e20776f756c642062652069742e",
     "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6"
     "3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36"
     "92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc"
     "3ff4def08e4b7a9de576d26586cec64b6116",
     "1ae10b594f09e26a7e902ecbd0600691"},
};

struct Message {
  Aead::Nonce nonce{};
  Bytes associated_data;
  Bytes text;  // encrypted in place
  Bytes more;  // encrypted from elsewhere
};
struct Ciphertext {
  Bytes text;
  Bytes tag;
  bool operator==(const Ciphertext&) const = default;
};

Ciphertext seal(Aead& aead, const Message& message) {
  Ciphertext out;
  out.text = message.text;
  out.text.resize(message.text.size() + message.more.size());
  out.tag.resize(Aead::kTagBytes);
  Aead::Sealing sealing;
  sealing.nonce = message.nonce;
  sealing.associated_data = message.associated_data;
  sealing.text = std::span(out.text).first(message.text.size());
  sealing.more = message.more;
  sealing.tag = out.tag;
  aead.seal(std::span(&sealing, 1));
  return out;
}

bool open(Aead& aead, const Message& message, Ciphertext& in_place) {
  Aead::Opening opening;
  opening.nonce = message.nonce;
  opening.associated_data = message.associated_data;
  opening.text = in_place.text;
  opening.tag = in_place.tag;
  aead.open(std::span(&opening, 1));
  return opening.ok;
}

class AeadTest : public testing::TestWithParam<Choice> {
 protected:
  void SetUp() override {
    aead_ = make_aead(GetParam().cipher, GetParam().engine);
    if (aead_ == nullptr) GTEST_SKIP() << "SKIP: this machine has no " << GetParam().name;
  }
  void set_random_key(base::Random& random) {
    aead_->set_key(random_bytes(random, GetParam().cipher == PacketCipher::aes_128_gcm ? 16 : 32));
  }
  std::unique_ptr<Aead> aead_;
};
INSTANTIATE_TEST_SUITE_P(, AeadTest, testing::ValuesIn(test::kChoices),
                         [](const auto& choice) { return std::string(choice.param.name); });

TEST_P(AeadTest, computes_the_published_vectors) {
  for (const Vector& vector : kVectors) {
    if (vector.cipher != GetParam().cipher) continue;
    aead_->set_key(hex(vector.key));
    Message message;
    std::ranges::copy(hex(vector.nonce), message.nonce.begin());
    message.associated_data = hex(vector.associated_data);
    // Both ways in, and cut in between.
    const Bytes plaintext = hex(vector.plaintext);
    for (std::size_t cut = 0; cut <= plaintext.size(); cut += 7) {
      const auto middle = plaintext.begin() + static_cast<std::ptrdiff_t>(cut);
      message.text.assign(plaintext.begin(), middle);
      message.more.assign(middle, plaintext.end());
      Ciphertext made = seal(*aead_, message);
      EXPECT_EQ(made.text, hex(vector.ciphertext)) << cut;
      EXPECT_EQ(made.tag, hex(vector.tag)) << cut;
      EXPECT_TRUE(open(*aead_, message, made));
      EXPECT_EQ(made.text, plaintext);
    }
  }
}

TEST_P(AeadTest, refuses_every_flipped_bit) {
  base::Random random(2);
  set_random_key(random);
  const Message message{{}, random_bytes(random, 18), {}, random_bytes(random, 77)};
  const Ciphertext made = seal(*aead_, message);
  for (std::size_t bit = 0; bit < made.text.size() * 8; ++bit) {
    Ciphertext changed = made;
    changed.text[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    ASSERT_FALSE(open(*aead_, message, changed)) << bit;
  }
  for (std::size_t bit = 0; bit < Aead::kTagBytes * 8; ++bit) {
    Ciphertext changed = made;
    changed.tag[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    ASSERT_FALSE(open(*aead_, message, changed)) << bit;
  }
  for (std::size_t bit = 0; bit < message.associated_data.size() * 8; ++bit) {
    Message changed = message;
    changed.associated_data[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    Ciphertext copy = made;
    ASSERT_FALSE(open(*aead_, changed, copy)) << bit;
  }
  for (std::size_t bit = 0; bit < Aead::kNonceBytes * 8; ++bit) {
    Message changed = message;
    changed.nonce[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    Ciphertext copy = made;
    ASSERT_FALSE(open(*aead_, changed, copy)) << bit;
  }
}

TEST_P(AeadTest, judges_each_message_of_a_burst_by_itself) {
  base::Random random(3);
  set_random_key(random);
  std::vector<Message> messages;
  std::vector<Ciphertext> made;
  for (std::size_t i = 0; i < 9; ++i) {
    Message message{{}, random_bytes(random, 18), {}, random_bytes(random, 100 + i)};
    message.nonce[11] = static_cast<std::byte>(i);
    messages.push_back(message);
    made.push_back(seal(*aead_, message));
    if (i % 3 == 1) made.back().text[50] ^= std::byte{4};
  }
  std::vector<Aead::Opening> openings(9);
  for (std::size_t i = 0; i < 9; ++i) {
    openings[i] = {messages[i].nonce, messages[i].associated_data, made[i].text, made[i].tag,
                   i % 2 == 0};
  }
  aead_->open(openings);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(openings[i].ok, i % 3 != 1) << i;
}

TEST_P(AeadTest, touches_nothing_beyond_its_bytes) {
  base::Random random(4);
  set_random_key(random);
  wire::test::GuardedMemory out(16384);
  wire::test::GuardedMemory header(4096);
  wire::test::GuardedMemory tensor(16384);
  for (const std::size_t size :
       {0UL, 1UL, 15UL, 16UL, 17UL, 63UL, 65UL, 255UL, 257UL, 768UL, 1444UL, 8944UL}) {
    for (const std::size_t associated : {11UL, 18UL, 23UL}) {
      const auto text = out.copy(random_bytes(random, size));
      const Bytes plaintext(text.begin(), text.end());
      const auto header_bytes = header.copy(random_bytes(random, associated));
      Bytes tag(Aead::kTagBytes);
      Aead::Sealing sealing;
      sealing.associated_data = header_bytes;
      sealing.text = text.first(0);
      sealing.more = tensor.copy(plaintext);
      sealing.tag = tag;
      aead_->seal(std::span(&sealing, 1));
      Aead::Opening opening;
      opening.associated_data = header_bytes;
      opening.text = text;
      opening.tag = tag;
      aead_->open(std::span(&opening, 1));
      ASSERT_TRUE(opening.ok) << size;
      ASSERT_TRUE(std::ranges::equal(text, plaintext)) << size;
    }
  }
}

TEST(Aead, engines_agree) {
  const auto one = make_aead(PacketCipher::aes_128_gcm, AeadEngine::ipsec_mb);
  const auto other = make_aead(PacketCipher::aes_128_gcm, AeadEngine::openssl);
  if (one == nullptr) GTEST_SKIP() << "SKIP: this machine has no IPsec-MB with AES";
  base::Random random(5);
  for (std::size_t round = 0; round < 3000; ++round) {
    const Bytes key = random_bytes(random, 16);
    one->set_key(key);
    other->set_key(key);
    Message message;
    std::ranges::copy(random_bytes(random, Aead::kNonceBytes), message.nonce.begin());
    message.associated_data = random_bytes(random, random.below(40));
    if (round % 3 != 0) message.text = random_bytes(random, random.below(round % 2 ? 100 : 2000));
    if (round % 3 != 1) message.more = random_bytes(random, random.below(round % 2 ? 100 : 9000));
    Ciphertext made = seal(*one, message);
    ASSERT_EQ(made, seal(*other, message)) << round;
    Ciphertext copy = made;
    ASSERT_TRUE(open(*one, message, made));
    ASSERT_TRUE(open(*other, message, copy));
    ASSERT_EQ(made, copy);
  }
}

TEST(Aead, the_fastest_engine_is_always_there) {
  EXPECT_NE(make_aead(PacketCipher::aes_128_gcm, AeadEngine::fastest), nullptr);
  EXPECT_NE(make_aead(PacketCipher::chacha20_poly1305, AeadEngine::fastest), nullptr);
  EXPECT_EQ(make_aead(PacketCipher::chacha20_poly1305, AeadEngine::ipsec_mb), nullptr);
}

}  // namespace
}  // namespace longhaul::crypto
