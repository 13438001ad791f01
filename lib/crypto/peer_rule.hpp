// SPDX-License-Identifier: Apache-2.0
// Which certificates are believed, and in what words others are refused.
#pragma once

#include <string>
#include <vector>

#include "lib/crypto/credentials.hpp"
#include "lib/crypto/openssl.hpp"

namespace longhaul::crypto {

struct PeerRule {
  std::vector<Fingerprint> pins;
  std::string name;

  /// Lets OpenSSL look at the name while it verifies a chain.
  bool install(SSL_CTX& context) const;
  /// Judges what a peer shows in a handshake, as SSL_CTX_set_cert_verify_callback asks for it.
  /// `refusal` gets the words.
  bool judge(X509_STORE_CTX& chain, std::string& refusal) const;
  /// Judges the certificate of a session again that is about to be resumed. Its chain was verified
  /// when the session began, and is not there any more.
  bool still_believed(X509* certificate) const;
};

Fingerprint fingerprint_of(const X509& certificate);
/// "CN=node-a,O=…", nothing in it that a log would stumble over.
std::string subject_of(const X509& certificate);

}  // namespace longhaul::crypto
