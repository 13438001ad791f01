// SPDX-License-Identifier: Apache-2.0
// What stands behind Credentials, for the .cpp files of this folder and its tests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/crypto/credentials.hpp"
#include "lib/crypto/openssl.hpp"
#include "lib/crypto/peer_rule.hpp"
#include "lib/crypto/session_cache.hpp"
#include "lib/crypto/tls_session.hpp"

namespace longhaul::crypto {

class TlsCredentials final : public Credentials {
 public:
  /// Keys of a pair of contexts: exactly one of both is there.
  explicit TlsCredentials(const PskKey& key) : psk_(key) {}
  explicit TlsCredentials(PeerRule rule) : rule_(std::move(rule)) {}

  /// nullptr where the peer shows a certificate.
  const PskKey* psk() const noexcept { return psk_ ? &*psk_ : nullptr; }
  const PeerRule& rule() const noexcept { return rule_; }
  SessionCache& sessions() noexcept { return sessions_; }
  SSL_CTX* context(TlsRole role) const noexcept {
    return (role == TlsRole::client ? client_ : server_).get();
  }
  void set_contexts(SslContextPtr client, SslContextPtr server) noexcept {
    client_ = std::move(client);
    server_ = std::move(server);
  }
  /// Puts this cipher before the other; without it the one this CPU is faster with is first.
  void prefer(PacketCipher cipher);

 private:
  std::optional<PskKey> psk_;
  PeerRule rule_;
  SessionCache sessions_;
  SslContextPtr client_;
  SslContextPtr server_;
};

}  // namespace longhaul::crypto
