// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/tls_context.hpp"

#include <openssl/tls1.h>

#include <algorithm>

#include "lib/base/byte_reader.hpp"
#include "lib/crypto/hardware_aes.hpp"
#include "lib/crypto/tls_words.hpp"

namespace longhaul::crypto {
namespace {

constexpr unsigned kParametersExtension = 0xffa5;  // of the range for private use (RFC 8446 §11)
constexpr int kStateIndex = 0;                     // the application's own slot on an SSL object
constexpr unsigned char kSuiteOfPsk[] = {0x13, 0x01};  // names the hash: SHA-256, of both suites
constexpr std::string_view kSessionContext = "longhaul";

int add_parameters(SSL* ssl, unsigned, unsigned, const unsigned char** out, std::size_t* size,
                   X509*, std::size_t, int*, void*) {
  const TlsState& state = state_of(ssl);
  *out = octets(std::span(state.parameters));
  *size = state.parameters.size();
  return 1;
}

int parse_parameters(SSL* ssl, unsigned, unsigned, const unsigned char* in, std::size_t size, X509*,
                     std::size_t, int*, void*) {
  const auto bytes = bytes_of(in, size);
  state_of(ssl).peer_parameters.assign(bytes.begin(), bytes.end());
  return 1;
}

/// The form in which OpenSSL takes an external pre-shared key; null without memory.
SSL_SESSION* session_of(SSL* ssl, const PskKey& key) {
  SslSessionPtr session(SSL_SESSION_new());
  const auto secret = key.secret.bytes();
  if (session == nullptr ||
      SSL_SESSION_set1_master_key(session.get(), octets(secret), secret.size()) != 1 ||
      SSL_SESSION_set_cipher(session.get(), SSL_CIPHER_find(ssl, kSuiteOfPsk)) != 1 ||
      SSL_SESSION_set_protocol_version(session.get(), TLS1_3_VERSION) != 1) {
    return nullptr;
  }
  return session.release();
}

int use_psk(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* size,
            SSL_SESSION** session) {
  const PskKey& key = *state_of(ssl).credentials.psk();
  *session = session_of(ssl, key);
  *identity = octets(std::as_bytes(std::span(key.identity)));
  *size = key.identity.size();
  return *session == nullptr ? 0 : 1;
}

int find_psk(SSL* ssl, const unsigned char* identity, std::size_t size, SSL_SESSION** session) {
  const PskKey& key = *state_of(ssl).credentials.psk();
  *session = nullptr;
  if (!std::ranges::equal(bytes_of(identity, size), std::as_bytes(std::span(key.identity)))) {
    return 1;
  }
  *session = session_of(ssl, key);
  return *session == nullptr ? 0 : 1;
}

/// The first identity in the client's pre_shared_key extension (RFC 8446 §4.2.11); empty if there
/// is none. It is a name of ours, or a ticket, which is longer than any.
std::string_view offered_identity(SSL* ssl) {
  const unsigned char* extension = nullptr;
  std::size_t size = 0;
  if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_psk, &extension, &size) != 1) return {};
  base::ByteReader reader(bytes_of(extension, size));
  reader.u16();
  const auto identity = reader.bytes(reader.u16());
  return {reinterpret_cast<const char*>(identity.data()), identity.size()};
}

// Told here, before OpenSSL goes on, what does not fit has a name.
int on_client_hello(SSL* ssl, int* alert, void*) {
  TlsState& state = state_of(ssl);
  const PskKey* const psk = state.credentials.psk();
  const std::string_view offered = offered_identity(ssl);
  const bool offers_psk = is_psk_identity(offered);
  if (psk == nullptr && offers_psk) {
    *alert = SSL_AD_BAD_CERTIFICATE;
    state.refusal = peer_has_psk();
  } else if (psk != nullptr && offered != psk->identity) {
    *alert = SSL_AD_UNKNOWN_PSK_IDENTITY;
    state.refusal = offers_psk ? other_identity(offered, *psk) : peer_has_certificates();
  }
  return state.refusal.empty() ? SSL_CLIENT_HELLO_SUCCESS : SSL_CLIENT_HELLO_ERROR;
}

int judge_certificate(X509_STORE_CTX* chain, void*) {
  const auto* const ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  TlsState& state = state_of(ssl);
  if (state.credentials.psk() == nullptr) {
    return state.credentials.rule().judge(*chain, state.refusal) ? 1 : 0;
  }
  state.refusal = peer_has_certificates();
  X509_STORE_CTX_set_error(chain, X509_V_ERR_CERT_REJECTED);
  return 0;
}

int keep_session(SSL* ssl, SSL_SESSION* session) {
  TlsState& state = state_of(ssl);
  if (state.peer.empty()) return 0;
  state.credentials.sessions().put(state.peer, SslSessionPtr(session));
  return 1;
}

// A ticket holds the certificate that was verified when it was made. Time has gone by since.
SSL_TICKET_RETURN judge_ticket(SSL* ssl, SSL_SESSION* session, const unsigned char*, std::size_t,
                               SSL_TICKET_STATUS status, void*) {
  const bool good = status == SSL_TICKET_SUCCESS || status == SSL_TICKET_SUCCESS_RENEW;
  if (!good || !state_of(ssl).credentials.rule().still_believed(SSL_SESSION_get0_peer(session))) {
    return SSL_TICKET_RETURN_IGNORE_RENEW;
  }
  return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
}

bool set_up_sessions(SSL_CTX& context, TlsRole role, bool psk) {
  SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_OFF);
  if (role == TlsRole::client) {
    if (psk) return true;
    SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(&context, keep_session);
    return true;
  }
  const auto name = std::as_bytes(std::span(kSessionContext));
  return SSL_CTX_set_num_tickets(&context, psk ? 0 : 1) == 1 &&
         SSL_CTX_set_session_id_context(&context, octets(name),
                                        static_cast<unsigned>(name.size())) == 1 &&
         SSL_CTX_set_session_ticket_cb(&context, nullptr, judge_ticket, nullptr) == 1;
}

}  // namespace

void set_state(SSL& ssl, TlsState& state) {
  SSL_set_ex_data(&ssl, kStateIndex, &state);
}

TlsState& state_of(const SSL* ssl) {
  return *static_cast<TlsState*>(SSL_get_ex_data(ssl, kStateIndex));
}

bool set_cipher_preference(SSL_CTX& context, PacketCipher first) {
  const char* const suites = first == PacketCipher::aes_128_gcm
                                 ? "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"
                                 : "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256";
  return SSL_CTX_set_ciphersuites(&context, suites) == 1;
}

SslContextPtr make_context(TlsRole role, bool psk) {
  const bool server = role == TlsRole::server;
  SslContextPtr context(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()));
  if (context == nullptr) return nullptr;
  SSL_CTX& made = *context;
  // A client without AES instructions puts ChaCha20 first, and the server follows it.
  SSL_CTX_set_options(&made, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  // Nothing between the ends takes this for TLS over TCP, so it need not look like older versions.
  SSL_CTX_clear_options(&made, SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
  SSL_CTX_set_mode(&made, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(&made, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_cert_verify_callback(&made, judge_certificate, nullptr);
  if (server) SSL_CTX_set_client_hello_cb(&made, on_client_hello, nullptr);
  if (psk && server) SSL_CTX_set_psk_find_session_callback(&made, find_psk);
  if (psk && !server) SSL_CTX_set_psk_use_session_callback(&made, use_psk);
  constexpr unsigned kWhere =
      SSL_EXT_TLS1_3_ONLY | SSL_EXT_CLIENT_HELLO | SSL_EXT_TLS1_3_ENCRYPTED_EXTENSIONS;
  const auto faster =
      has_hardware_aes() ? PacketCipher::aes_128_gcm : PacketCipher::chacha20_poly1305;
  const bool done = SSL_CTX_set_min_proto_version(&made, TLS1_3_VERSION) == 1 &&
                    SSL_CTX_set_max_proto_version(&made, TLS1_3_VERSION) == 1 &&
                    SSL_CTX_set1_groups_list(&made, "X25519:P-256") == 1 &&
                    set_cipher_preference(made, faster) && set_up_sessions(made, role, psk) &&
                    SSL_CTX_add_custom_ext(&made, kParametersExtension, kWhere, add_parameters,
                                           nullptr, nullptr, parse_parameters, nullptr) == 1;
  return done ? std::move(context) : nullptr;
}

}  // namespace longhaul::crypto
