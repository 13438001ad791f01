// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/key_schedule.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <algorithm>

#include "lib/base/assert.hpp"
#include "lib/crypto/openssl.hpp"

namespace longhaul::crypto {
namespace {

constexpr std::string_view kKeyLabel = "longhaul key";
constexpr std::string_view kIvLabel = "longhaul iv";
constexpr std::string_view kNextLabel = "longhaul next";
constexpr std::size_t kInfoMax = 64;

}  // namespace

void hkdf_expand(std::span<const std::byte> key, std::string_view info,
                 std::span<std::byte> out) noexcept {
  LONGHAUL_ASSERT(info.size() <= kInfoMax && out.size() <= 255UL * SHA256_DIGEST_LENGTH);
  // T(n) = HMAC(key, T(n-1) ‖ info ‖ n)
  std::array<std::byte, SHA256_DIGEST_LENGTH + kInfoMax + 1> message;
  std::array<std::byte, SHA256_DIGEST_LENGTH> block;
  const auto label = std::as_bytes(std::span(info)).first(std::min(info.size(), kInfoMax));
  std::size_t before = 0;
  for (std::size_t n = 1; !out.empty(); ++n) {
    std::ranges::copy_n(block.begin(), static_cast<std::ptrdiff_t>(before), message.begin());
    auto end = std::ranges::copy(label, message.begin() + static_cast<std::ptrdiff_t>(before)).out;
    *end++ = static_cast<std::byte>(n);
    unsigned size = 0;
    const auto* const made =
        HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), octets(message),
             static_cast<std::size_t>(end - message.begin()), writable_octets(block), &size);
    LONGHAUL_ASSERT(made != nullptr && size == block.size());
    const std::size_t taken = std::min(out.size(), block.size());
    std::ranges::copy_n(block.begin(), static_cast<std::ptrdiff_t>(taken), out.begin());
    out = out.subspan(taken);
    before = block.size();
  }
  wipe(message);
  wipe(block);
}

void derive(const Secret& secret, PacketCipher cipher, PacketKey& key) noexcept {
  key.size = key_bytes(cipher);
  hkdf_expand(secret.bytes(), kKeyLabel, std::span(key.bytes).first(key.size));
  hkdf_expand(secret.bytes(), kIvLabel, key.iv);
}

Secret next_secret(const Secret& secret) noexcept {
  Secret next;
  hkdf_expand(secret.bytes(), kNextLabel, next.writable());
  return next;
}

}  // namespace longhaul::crypto
