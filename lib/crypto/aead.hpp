// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "lib/crypto/secrets.hpp"

namespace longhaul::crypto {

/// Who computes. Both give the same bytes; `fastest` is what this machine has.
enum class AeadEngine : std::uint8_t { fastest, ipsec_mb, openssl };

/// One key of an AEAD with 16-byte tags and 12-byte nonces (RFC 5116). Allocates when it is made,
/// not when it works; wipes its key when it goes or gets another.
class Aead {
 public:
  static constexpr std::size_t kTagBytes = 16;
  static constexpr std::size_t kNonceBytes = 12;
  using Nonce = std::array<std::byte, kNonceBytes>;

  /// One message is `text`, which is replaced by its ciphertext, then `more`, whose ciphertext goes
  /// right behind it, also behind an empty `text`: the memory there must be the caller's.
  struct Sealing {
    Nonce nonce{};
    std::span<const std::byte> associated_data;
    std::span<std::byte> text;
    std::span<const std::byte> more;
    std::span<std::byte> tag;  // kTagBytes
  };
  /// `text` is replaced by its plaintext; if `ok` is false by nothing one may look at.
  struct Opening {
    Nonce nonce{};
    std::span<const std::byte> associated_data;
    std::span<std::byte> text;
    std::span<const std::byte> tag;  // kTagBytes
    bool ok = false;
  };

  virtual ~Aead() = default;
  /// `key` is as long as the cipher wants it (key_schedule.hpp).
  virtual void set_key(std::span<const std::byte> key) = 0;
  virtual void seal(std::span<const Sealing> messages) = 0;
  virtual void open(std::span<Opening> messages) = 0;
};

/// Null if this build or this machine has no such engine for that cipher. Needs set_key.
std::unique_ptr<Aead> make_aead(PacketCipher cipher, AeadEngine engine);

/// Each in a source file of its own, which the build chooses.
std::unique_ptr<Aead> make_ipsec_mb_aead(PacketCipher cipher);
std::unique_ptr<Aead> make_openssl_aead(PacketCipher cipher);

}  // namespace longhaul::crypto
