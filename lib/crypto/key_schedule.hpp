// SPDX-License-Identifier: Apache-2.0
// From the secret of a direction to the key of its packets, and on to the next secret.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "lib/crypto/secrets.hpp"

namespace longhaul::crypto {

/// HKDF-Expand with SHA-256 (RFC 5869 §2.3).
void hkdf_expand(std::span<const std::byte> key, std::string_view info,
                 std::span<std::byte> out) noexcept;

/// Bytes of a cipher's key.
constexpr std::size_t key_bytes(PacketCipher cipher) noexcept {
  return cipher == PacketCipher::aes_128_gcm ? 16 : 32;
}

/// Wiped when it goes.
struct PacketKey {
  std::array<std::byte, 32> bytes{};
  std::size_t size = 0;
  std::array<std::byte, 12> iv{};

  PacketKey() noexcept = default;
  PacketKey(const PacketKey&) = delete;
  PacketKey& operator=(const PacketKey&) = delete;
  ~PacketKey() {
    wipe(bytes);
    wipe(iv);
  }
  std::span<const std::byte> key() const noexcept { return std::span(bytes).first(size); }
};

void derive(const Secret& secret, PacketCipher cipher, PacketKey& key) noexcept;
/// What takes the secret's place when the key is renewed. There is no way back.
Secret next_secret(const Secret& secret) noexcept;

}  // namespace longhaul::crypto
