// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/tls_words.hpp"

#include <openssl/ssl.h>
#include <openssl/sslerr.h>

namespace longhaul::crypto {
namespace {

constexpr std::string_view kSameKey = "; give both ends the same key file";
constexpr std::string_view kSameKind = "; set up both ends the same way";
constexpr std::string_view kAskItsLog =
    "; the log at the other end says why, and what to change there or here";

std::string other_key(const PskKey& ours) {
  return "the peer holds another key under the name " + ours.identity + std::string(kSameKey);
}

/// What an alert says about our certificate; empty if it is about something else.
std::string_view certificate_alert(int alert) {
  switch (alert) {
    case SSL_AD_BAD_CERTIFICATE:
      return "it does not accept it, by its name, fingerprint or signature";
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
      return "its kind or its extended key usage does not suit";
    case SSL_AD_CERTIFICATE_REVOKED:
      return "it was revoked";
    case SSL_AD_CERTIFICATE_EXPIRED:
      return "it has expired";
    case SSL_AD_CERTIFICATE_UNKNOWN:
      return "it did not understand it";
    case SSL_AD_UNKNOWN_CA:
      return "it does not trust the CA that signed it";
    case SSL_AD_DECRYPT_ERROR:
      return "a signature in our certificate or of our key does not fit, perhaps since its CA has "
             "the same name and another key";
    case TLS13_AD_CERTIFICATE_REQUIRED:
      return "it got none";
    default:
      return {};
  }
}

}  // namespace

std::string other_identity(std::string_view offered, const PskKey& ours) {
  const std::string theirs = is_psk_identity(offered) ? std::string(offered) : "something else";
  return "the peer's key is called " + theirs + ", ours " + ours.identity + std::string(kSameKey);
}

std::string peer_has_certificates() {
  return "the peer uses certificates, we hold a pre-shared key" + std::string(kSameKind);
}

std::string peer_has_psk() {
  return "the peer holds a pre-shared key, we use certificates" + std::string(kSameKind);
}

std::string explain_alert(int alert, const TlsCredentials& credentials) {
  const PskKey* const psk = credentials.psk();
  // The first flight of a PSK handshake has one thing in it that can be illegal: the binder.
  if (psk != nullptr && (alert == SSL_AD_ILLEGAL_PARAMETER || alert == SSL_AD_DECRYPT_ERROR)) {
    return other_key(*psk);
  }
  const std::string_view about_certificate = certificate_alert(alert);
  if (!about_certificate.empty()) {
    if (psk != nullptr) return peer_has_certificates();
    return "the peer refuses our certificate: " + std::string(about_certificate) +
           "; give another certificate, or have the other end believe this one; its log says what "
           "it "
           "was shown";
  }
  if (alert == SSL_AD_UNKNOWN_PSK_IDENTITY) {
    if (psk == nullptr) return peer_has_psk();
    return "the peer has no key called " + psk->identity + std::string(kSameKey);
  }
  switch (alert) {
    case SSL_AD_HANDSHAKE_FAILURE:
    case SSL_AD_INSUFFICIENT_SECURITY:
      return "the peer finds no cipher, group or signature we have in common" +
             std::string(kAskItsLog);
    case SSL_AD_PROTOCOL_VERSION:
      return "the peer does not speak TLS 1.3; update it";
    case SSL_AD_ACCESS_DENIED:
      return "the peer denies access" + std::string(kAskItsLog);
    case SSL_AD_INTERNAL_ERROR:
      return "the peer has an internal error in its TLS" + std::string(kAskItsLog);
    default:
      return "the peer ended the handshake with alert " + std::to_string(alert) + " (" +
             SSL_alert_desc_string_long(alert) + ")" + std::string(kAskItsLog);
  }
}

std::string explain_error(const TlsCredentials& credentials, TlsRole role) {
  const unsigned long error = ERR_peek_last_error();
  const int reason = ERR_GET_REASON(error);
  const bool from_tls = ERR_GET_LIB(error) == ERR_LIB_SSL;
  if (from_tls && reason > SSL_AD_REASON_OFFSET) {
    return explain_alert(reason - SSL_AD_REASON_OFFSET, credentials);
  }
  const PskKey* const psk = credentials.psk();
  if (from_tls && reason == SSL_R_BINDER_DOES_NOT_VERIFY && psk != nullptr) return other_key(*psk);
  if (from_tls && reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
    return "the peer shows no certificate; give it one, and its private key";
  }
  if (from_tls && reason == SSL_R_NO_SHARED_CIPHER) {
    return "the peer offers no cipher we have; it must know TLS_AES_128_GCM_SHA256";
  }
  const char* const words = ERR_reason_error_string(error);
  return std::string("the ") + (role == TlsRole::server ? "client" : "server") +
         "'s side of the TLS handshake is wrong (" + (words == nullptr ? "unknown" : words) +
         "); is it Longhaul, and nothing on the way changes packets?";
}

}  // namespace longhaul::crypto
