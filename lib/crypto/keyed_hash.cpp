// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/keyed_hash.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <algorithm>

#include "lib/base/assert.hpp"

namespace longhaul::crypto {
namespace {

const unsigned char* bytes(std::span<const std::byte> span) {
  return reinterpret_cast<const unsigned char*>(span.data());
}

}  // namespace

KeyedHash::KeyedHash(std::span<const std::byte> key) {
  SHA256(bytes(key), key.size(), reinterpret_cast<unsigned char*>(key_.data()));
}

KeyedHash::KeyedHash(std::string_view key) : KeyedHash(std::as_bytes(std::span(key))) {}

KeyedHash::Tag KeyedHash::operator()(std::span<const std::byte> message) const {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> full{};
  unsigned int size = 0;
  const auto* made = HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()), bytes(message),
                          message.size(), full.data(), &size);
  LONGHAUL_ASSERT(made != nullptr && size == full.size());
  Tag tag;
  std::ranges::copy_n(reinterpret_cast<const std::byte*>(full.data()),
                      static_cast<std::ptrdiff_t>(tag.size()), tag.begin());
  return tag;
}

bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace longhaul::crypto
