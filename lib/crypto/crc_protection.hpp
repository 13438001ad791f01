// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/crypto/packet_protection.hpp"

namespace longhaul::crypto {

/// `security = none`: CRC32C against line noise, nothing against an attacker. In payload mode
/// `reference` the checksum covers the head only and `RxDatagram::damaged` stands for the rest.
class CrcProtection final : public PacketProtection {
 public:
  explicit CrcProtection(base::PayloadMode mode) noexcept : mode_(mode) {}
  std::size_t overhead() const override;
  void seal(std::span<const SealJob> burst) override;
  void open(std::span<OpenJob> burst) override;

 private:
  base::PayloadMode mode_;
};

}  // namespace longhaul::crypto
