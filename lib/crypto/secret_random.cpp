// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/secret_random.hpp"

#include <openssl/sha.h>

#include <algorithm>
#include <new>

#include "lib/base/byte_writer.hpp"
#include "lib/crypto/openssl.hpp"

namespace longhaul::crypto {
namespace {
// A key makes one pool, so the counter always begins here.
constexpr std::array<unsigned char, 16> kCounter{};
}  // namespace

/// Made once: what OpenSSL allocates for a cipher costs more than a pool of numbers.
struct SecretRandom::Context {
  CipherContextPtr cipher;
};

SecretRandom::SecretRandom(const Secret& entropy) : context_(std::make_unique<Context>()) {
  const ErrorScope errors;
  const CipherPtr cipher(EVP_CIPHER_fetch(nullptr, "AES-256-CTR", nullptr));
  context_->cipher.reset(EVP_CIPHER_CTX_new());
  // Numbers somebody can foresee are worse than none: there is no going on without the cipher.
  if (cipher == nullptr || context_->cipher == nullptr ||
      EVP_EncryptInit_ex2(context_->cipher.get(), cipher.get(), octets(entropy.bytes()),
                          kCounter.data(), nullptr) != 1)
    throw std::bad_alloc();
}

SecretRandom::~SecretRandom() {
  wipe(pool_);
}

// A pool's first bytes are the next key and are handed to nobody.
void SecretRandom::refill() {
  const ErrorScope errors;
  EVP_CIPHER_CTX* const cipher = context_->cipher.get();
  unsigned char* const pool = writable_octets(pool_);
  pool_.fill(std::byte{0});
  int written = 0;
  if (EVP_EncryptUpdate(cipher, pool, &written, pool, static_cast<int>(kPoolBytes)) != 1 ||
      written != static_cast<int>(kPoolBytes) ||
      EVP_EncryptInit_ex2(cipher, nullptr, pool, kCounter.data(), nullptr) != 1)
    throw std::bad_alloc();
  wipe(std::span(pool_).first(Secret::kBytes));
  used_ = Secret::kBytes;
}

void SecretRandom::fill(std::span<std::byte> out) {
  while (!out.empty()) {
    if (used_ == kPoolBytes) refill();
    const auto part =
        std::span(pool_).subspan(used_).first(std::min(out.size(), kPoolBytes - used_));
    std::ranges::copy(part, out.begin());
    std::ranges::fill(part, std::byte{0});
    used_ += part.size();
    out = out.subspan(part.size());
  }
}

std::uint64_t SecretRandom::next() {
  std::array<std::byte, 8> bytes;
  fill(bytes);
  std::uint64_t number = 0;
  for (const std::byte byte : bytes) number = number << 8 | std::to_integer<std::uint64_t>(byte);
  return number;
}

Secret SecretRandom::secret() {
  Secret made;
  fill(made.writable());
  return made;
}

Secret simulated_entropy(std::uint64_t seed) {
  std::array<std::byte, 8> bytes;
  base::ByteWriter(bytes).u64(seed);
  Secret made;
  SHA256(octets(bytes), bytes.size(), writable_octets(made.writable()));
  return made;
}

}  // namespace longhaul::crypto
