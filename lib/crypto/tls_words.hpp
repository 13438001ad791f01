// SPDX-License-Identifier: Apache-2.0
// Failures of a handshake in words: cause; remedy.
#pragma once

#include <string>
#include <string_view>

#include "lib/crypto/tls_credentials.hpp"

namespace longhaul::crypto {

/// `offered`: what the peer calls its key; any bytes.
std::string other_identity(std::string_view offered, const PskKey& ours);
std::string peer_has_certificates();
std::string peer_has_psk();
/// What the newest error in OpenSSL's queue means for a handshake with these credentials.
std::string explain_error(const TlsCredentials& credentials, TlsRole role);
/// `alert` came from the peer (RFC 8446 §6).
std::string explain_alert(int alert, const TlsCredentials& credentials);

}  // namespace longhaul::crypto
