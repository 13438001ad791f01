// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/crypto/tls_credentials.hpp"

namespace longhaul::crypto {

/// What OpenSSL's callbacks see of a session: it hangs on the SSL object.
struct TlsState {
  TlsCredentials& credentials;
  TlsRole role;
  std::string peer;
  std::vector<std::byte> parameters;
  std::vector<std::byte> peer_parameters;
  std::string refusal;  ///< why we refused the peer, where we know better than OpenSSL
};

void set_state(SSL& ssl, TlsState& state);
TlsState& state_of(const SSL* ssl);

/// A context with everything that does not depend on certificates; null without memory. Sessions
/// made from it need a TlsState.
SslContextPtr make_context(TlsRole role, bool psk);
bool set_cipher_preference(SSL_CTX& context, PacketCipher first);

}  // namespace longhaul::crypto
