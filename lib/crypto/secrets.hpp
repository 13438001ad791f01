// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace longhaul::crypto {

/// The AEAD that protects packets; chosen with the TLS cipher suite.
enum class PacketCipher : std::uint8_t { aes_128_gcm, chacha20_poly1305 };

/// Overwrites in a way no optimiser takes out.
void wipe(std::span<std::byte> bytes) noexcept;

/// 32 bytes that are wiped when they go. Never printed, never compared but in constant time.
class Secret {
 public:
  static constexpr std::size_t kBytes = 32;
  Secret() noexcept = default;
  explicit Secret(std::span<const std::byte, kBytes> bytes) noexcept;
  Secret(const Secret& other) noexcept = default;
  Secret& operator=(const Secret& other) noexcept = default;
  ~Secret();
  std::span<const std::byte, kBytes> bytes() const noexcept { return bytes_; }
  std::span<std::byte, kBytes> writable() noexcept { return bytes_; }

 private:
  std::array<std::byte, kBytes> bytes_{};
};

/// What a finished handshake gives: a secret a direction, from the TLS exporter (RFC 8446 §7.5).
struct TrafficSecrets {
  PacketCipher cipher = PacketCipher::aes_128_gcm;
  Secret send;
  Secret receive;
};

}  // namespace longhaul::crypto
