// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/keyed_hash.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <string>

#include "lib/base/assert.hpp"
#include "lib/crypto/openssl.hpp"

namespace longhaul::crypto {

/// Made once: fetching HMAC and hashing the key cost six times what a short message does.
struct KeyedHash::Context {
  MacContextPtr mac;
};

KeyedHash::KeyedHash(std::span<const std::byte> key) : context_(std::make_unique<Context>()) {
  const ErrorScope errors;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hashed{};
  SHA256(octets(key), key.size(), hashed.data());
  const MacPtr mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  LONGHAUL_ASSERT(mac != nullptr);
  context_->mac.reset(EVP_MAC_CTX_new(mac.get()));
  std::string digest = "SHA256";
  const std::array parameters{
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_end()};
  const int done =
      EVP_MAC_init(context_->mac.get(), hashed.data(), hashed.size(), parameters.data());
  OPENSSL_cleanse(hashed.data(), hashed.size());
  LONGHAUL_ASSERT(done == 1);
}

KeyedHash::KeyedHash(std::string_view key) : KeyedHash(std::as_bytes(std::span(key))) {}
KeyedHash::KeyedHash(KeyedHash&&) noexcept = default;
KeyedHash::~KeyedHash() = default;

KeyedHash::Tag KeyedHash::operator()(std::span<const std::byte> message) const {
  EVP_MAC_CTX* const mac = context_->mac.get();
  std::array<unsigned char, SHA256_DIGEST_LENGTH> full{};
  std::size_t size = 0;
  const bool made = EVP_MAC_init(mac, nullptr, 0, nullptr) == 1 &&
                    EVP_MAC_update(mac, octets(message), message.size()) == 1 &&
                    EVP_MAC_final(mac, full.data(), &size, full.size()) == 1;
  LONGHAUL_ASSERT(made && size == full.size());
  Tag tag;
  std::ranges::copy_n(reinterpret_cast<const std::byte*>(full.data()),
                      static_cast<std::ptrdiff_t>(tag.size()), tag.begin());
  return tag;
}

bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace longhaul::crypto
