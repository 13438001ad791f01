// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/crypto/credentials.hpp"
#include "lib/crypto/secrets.hpp"

namespace longhaul::crypto {

enum class TlsRole : std::uint8_t { client, server };

/// One TLS 1.3 handshake over two byte streams, whoever carries them (OpenSSL over memory BIOs).
/// Transport parameters go in an extension of ClientHello and EncryptedExtensions, so that nobody
/// on the way can change them unseen.
class TlsSession {
 public:
  /// `parameters`: own transport parameters, encoded. `peer`: client only; under this name the
  /// session is kept for resumption (RFC 8446 §2.2), without early data; "" keeps none.
  /// `credentials` must outlive the session.
  TlsSession(Credentials& credentials, TlsRole role, std::span<const std::byte> parameters,
             std::string_view peer);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  /// The next bytes of the peer's stream. A client calls it once with nothing to begin. After the
  /// end of the handshake the stream still carries session tickets.
  void receive(std::span<const std::byte> bytes);
  /// Appends what our stream has to say now to `out`.
  void take_output(std::vector<std::byte>& out);

  /// Both ends have proven that they hold their key, as far as this end can know.
  bool finished() const noexcept;
  /// Why the handshake cannot succeed any more, in words with the remedy: wrong key, unknown CA,
  /// expired certificate, another name … After it `receive` does nothing.
  const std::optional<std::string>& failure() const noexcept;
  /// Once finished; empty if the peer sent none.
  std::span<const std::byte> peer_parameters() const noexcept;
  /// Once finished: "psk IDENTITY" or "certificate SUBJECT sha256:FINGERPRINT".
  std::string peer_identity() const;
  bool resumed() const noexcept;
  /// Once finished. Both ends get the same secrets, each the other's `send` as its `receive`.
  TrafficSecrets secrets() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longhaul::crypto
