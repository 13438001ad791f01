// SPDX-License-Identifier: Apache-2.0
#include <openssl/evp.h>

#include <algorithm>

#include "lib/base/assert.hpp"
#include "lib/crypto/aead.hpp"
#include "lib/crypto/openssl.hpp"

namespace longhaul::crypto {
namespace {

// The associated data of EVP_*Update, told by a null output.
unsigned char* const kNoOutput = nullptr;

int int_size(std::span<const std::byte> bytes) noexcept {
  return static_cast<int>(bytes.size());
}

/// Two contexts, since turning one round costs a key schedule.
class OpensslAead final : public Aead {
 public:
  OpensslAead(CipherPtr cipher, CipherContextPtr seal, CipherContextPtr open)
      : cipher_(std::move(cipher)), seal_(std::move(seal)), open_(std::move(open)) {}

  void set_key(std::span<const std::byte> key) override {
    LONGHAUL_ASSERT(int_size(key) == EVP_CIPHER_get_key_length(cipher_.get()));
    const bool done =
        EVP_EncryptInit_ex2(seal_.get(), cipher_.get(), octets(key), nullptr, nullptr) == 1 &&
        EVP_DecryptInit_ex2(open_.get(), cipher_.get(), octets(key), nullptr, nullptr) == 1;
    LONGHAUL_ASSERT(done);
  }

  void seal(std::span<const Sealing> messages) override {
    for (const Sealing& message : messages) {
      const bool done = seal(message);
      LONGHAUL_ASSERT(done);
    }
  }

  void open(std::span<Opening> messages) override {
    const ErrorScope errors;
    for (Opening& message : messages) message.ok = open(message);
  }

 private:
  bool seal(const Sealing& message) {
    EVP_CIPHER_CTX* const context = seal_.get();
    int size = 0;
    unsigned char* const behind = writable_octets(message.text) + message.text.size();
    return EVP_EncryptInit_ex2(context, nullptr, nullptr, octets(message.nonce), nullptr) == 1 &&
           EVP_EncryptUpdate(context, kNoOutput, &size, octets(message.associated_data),
                             int_size(message.associated_data)) == 1 &&
           (message.text.empty() ||
            EVP_EncryptUpdate(context, writable_octets(message.text), &size, octets(message.text),
                              int_size(message.text)) == 1) &&
           (message.more.empty() || EVP_EncryptUpdate(context, behind, &size, octets(message.more),
                                                      int_size(message.more)) == 1) &&
           EVP_EncryptFinal_ex(context, behind + message.more.size(), &size) == 1 &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, kTagBytes, message.tag.data()) == 1;
  }

  bool open(const Opening& message) {
    EVP_CIPHER_CTX* const context = open_.get();
    int size = 0;
    std::array<std::byte, kTagBytes> tag;  // OpenSSL's interface wants it writable
    std::ranges::copy(message.tag, tag.begin());
    return EVP_DecryptInit_ex2(context, nullptr, nullptr, octets(message.nonce), nullptr) == 1 &&
           EVP_DecryptUpdate(context, kNoOutput, &size, octets(message.associated_data),
                             int_size(message.associated_data)) == 1 &&
           (message.text.empty() ||
            EVP_DecryptUpdate(context, writable_octets(message.text), &size, octets(message.text),
                              int_size(message.text)) == 1) &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag.data()) == 1 &&
           EVP_DecryptFinal_ex(context, writable_octets(message.text) + message.text.size(),
                               &size) == 1;
  }

  CipherPtr cipher_;
  CipherContextPtr seal_;
  CipherContextPtr open_;
};

}  // namespace

std::unique_ptr<Aead> make_openssl_aead(PacketCipher cipher) {
  const ErrorScope errors;
  const char* const name =
      cipher == PacketCipher::aes_128_gcm ? "AES-128-GCM" : "ChaCha20-Poly1305";
  CipherPtr fetched(EVP_CIPHER_fetch(nullptr, name, nullptr));
  CipherContextPtr seal(EVP_CIPHER_CTX_new());
  CipherContextPtr open(EVP_CIPHER_CTX_new());
  if (fetched == nullptr || seal == nullptr || open == nullptr) return nullptr;
  return std::make_unique<OpensslAead>(std::move(fetched), std::move(seal), std::move(open));
}

}  // namespace longhaul::crypto
