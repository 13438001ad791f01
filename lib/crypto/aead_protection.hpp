// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "lib/crypto/aead.hpp"
#include "lib/crypto/packet_protection.hpp"
#include "lib/crypto/secrets.hpp"

namespace longhaul::crypto {

/// What RFC 9001 §6.6 bounds; tests lower it.
struct AeadLimits {
  /// Packets sealed with one key before it is renewed. A key that could not be renewed by twice
  /// that many (no ACK came) ends the connection.
  std::uint64_t packets_per_key = std::uint64_t{1} << 22;
  /// Packets that failed to open before the connection ends: 2^52 for AES-128-GCM, 2^36 for
  /// ChaCha20-Poly1305; 0 = that.
  std::uint64_t forgeries_max = 0;
};

/// Packets sealed by an AEAD (RFC 5116): associated data is the header, the tag stands between
/// header and payload, the nonce is IV xor (space ID ‖ packet number). The two directions renew
/// their keys apart from each other: the next secret follows from the present one, the key phase in
/// the header counts modulo four, and the receiver keeps the previous, the present and the next.
class AeadProtection final : public PacketProtection {
 public:
  /// `engine` must exist here for that cipher (make_aead).
  explicit AeadProtection(const TrafficSecrets& secrets, const AeadLimits& limits = {},
                          AeadEngine engine = AeadEngine::fastest);
  ~AeadProtection() override;
  std::size_t overhead() const override;
  void seal(std::span<const SealJob> burst) override;
  void open(std::span<OpenJob> burst) override;
  std::uint8_t key_phase() const override;
  void on_acked(Timestamp now, std::uint8_t key_phase, Duration rtt) override;
  bool exhausted() const override;
  /// Keys renewed so far, of both directions.
  std::uint64_t key_updates() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longhaul::crypto
