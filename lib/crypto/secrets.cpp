// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/secrets.hpp"

#include <openssl/crypto.h>

#include <algorithm>

namespace longhaul::crypto {

void wipe(std::span<std::byte> bytes) noexcept {
  OPENSSL_cleanse(bytes.data(), bytes.size());
}

Secret::Secret(std::span<const std::byte, kBytes> bytes) noexcept {
  std::ranges::copy(bytes, bytes_.begin());
}

Secret::~Secret() {
  wipe(bytes_);
}

}  // namespace longhaul::crypto
