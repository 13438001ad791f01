// SPDX-License-Identifier: Apache-2.0
// Who an endpoint is and whom it believes. Made once at open from bytes, not from files.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/crypto/secrets.hpp"
#include "longhaul/result.hpp"

namespace longhaul::crypto {

inline constexpr std::size_t kPskIdentityMax = 64;
/// 1 … kPskIdentityMax of [A-Za-z0-9._-].
bool is_psk_identity(std::string_view text) noexcept;

/// External pre-shared key (RFC 8446 §2.2, psk_dhe_ke). Its text form is one line,
/// `longhaul-psk-1 IDENTITY 64-HEX-DIGITS`; empty lines and lines that begin with # are skipped.
struct PskKey {
  std::string identity;  ///< as is_psk_identity wants it
  Secret secret;

  static Result<PskKey> parse(std::string_view text);
  /// A new key from the system's randomness.
  static Result<PskKey> generate(std::string_view identity);
  /// The line, with a comment that says what it is. Callers wipe it.
  std::string text() const;
};

using Fingerprint = std::array<std::byte, 32>;  ///< SHA-256 of a certificate in DER
/// "ab:cd:…" or "abcd…", 32 bytes, also behind "sha256:"; case does not matter.
Result<Fingerprint> parse_fingerprint(std::string_view text);
std::string to_string(const Fingerprint& fingerprint);

/// Both ends show a certificate. A peer is believed if its certificate is one of
/// `peer_fingerprints`, where that list is not empty, and otherwise if its chain ends in `ca_pem`
/// and, where `peer_name` is not empty, it is made out to that name (RFC 6125).
struct CertificateKeys {
  std::string certificate_pem;  ///< own certificate, then its chain
  std::string private_key_pem;
  std::string ca_pem;
  std::string peer_name;
  std::vector<Fingerprint> peer_fingerprints;
  /// What errors call them: settings and paths, where they come from files.
  std::string certificate_name = "the own certificate";
  std::string private_key_name = "the private key";
  std::string ca_name = "the list of CAs";
};

/// Shared by the connections of one endpoint, used by one thread at a time.
class Credentials {
 public:
  /// Errors name what is wrong with the key in words a user can act on, never the key.
  static Result<std::shared_ptr<Credentials>> from_psk(const PskKey& key);
  static Result<std::shared_ptr<Credentials>> from_certificates(const CertificateKeys& keys);
  virtual ~Credentials() = default;

 protected:
  Credentials() = default;
};

}  // namespace longhaul::crypto
