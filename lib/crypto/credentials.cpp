// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/credentials.hpp"

#include <openssl/pem.h>

#include "lib/crypto/byte_order_mark.hpp"
#include "lib/crypto/openssl.hpp"
#include "lib/crypto/tls_context.hpp"
#include "lib/crypto/tls_credentials.hpp"

namespace longhaul::crypto {
namespace {

tl::unexpected<Error> refuse(std::string context) {
  return fail(ErrorCode::invalid_argument, std::move(context));
}

/// OpenSSL's words for its newest error, in parentheses.
std::string openssl_words() {
  const char* const words = ERR_reason_error_string(ERR_peek_last_error());
  return words == nullptr ? std::string() : " (" + std::string(words) + ")";
}

BioPtr reader_of(const std::string& file) {
  const std::string_view text = without_mark(file);
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// OpenSSL would ask the terminal.
int no_passphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

/// All certificates in `pem`, at least one. `what` names it in errors.
Result<std::vector<X509Ptr>> read_certificates(const std::string& pem, const std::string& what) {
  std::vector<X509Ptr> certificates;
  // OpenSSL would leave out, without a word, the certificate it stands before.
  if (pem.find(kByteOrderMark, kByteOrderMark.size()) != std::string::npos) {
    return refuse(what +
                  " has a byte order mark in its middle, which no editor shows; save the files it "
                  "was put together from without one (UTF-8, no BOM)");
  }
  const BioPtr bio = reader_of(pem);
  bool asked = false;
  while (X509* const certificate =
             bio == nullptr ? nullptr
                            : PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, &asked)) {
    certificates.emplace_back(certificate);
  }
  const unsigned long error = ERR_peek_last_error();
  const bool at_end =
      ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  if (!at_end) {
    return refuse(what + ": certificate " + std::to_string(certificates.size() + 1) +
                  " is damaged" + openssl_words() + "; copy the PEM file again");
  }
  ERR_clear_error();
  if (certificates.empty()) {
    return refuse(what + " holds no certificate; it must be PEM, -----BEGIN CERTIFICATE-----");
  }
  return certificates;
}

Result<KeyPtr> read_private_key(const std::string& pem, const std::string& what) {
  bool asked = false;
  const BioPtr bio = reader_of(pem);
  KeyPtr key(bio == nullptr ? nullptr
                            : PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, &asked));
  if (asked) {
    return refuse(what + " is encrypted; decrypt it first, openssl pkey does it");
  }
  if (key == nullptr) {
    return refuse(what + " holds no private key; it must be PEM, -----BEGIN PRIVATE KEY-----");
  }
  return key;
}

/// Length of the TLS message with these certificates (RFC 8446 §4.4.2).
std::size_t message_bytes(const std::vector<X509Ptr>& chain) {
  constexpr std::size_t kHead = 4;       // no context, length of the list
  constexpr std::size_t kEntryHead = 5;  // length of the certificate, no extensions
  std::size_t bytes = kHead;
  for (const X509Ptr& certificate : chain) {
    bytes += kEntryHead + static_cast<std::size_t>(i2d_X509(certificate.get(), nullptr));
  }
  return bytes;
}

/// What the contexts of both roles are made from.
struct Loaded {
  std::vector<X509Ptr> chain;  // own certificate first
  KeyPtr key;
  std::vector<X509Ptr> authorities;
};

Result<Loaded> load(const CertificateKeys& keys) {
  Loaded loaded;
  auto chain = read_certificates(keys.certificate_pem, keys.certificate_name);
  if (!chain) return tl::unexpected(chain.error());
  loaded.chain = std::move(*chain);
  auto key = read_private_key(keys.private_key_pem, keys.private_key_name);
  if (!key) return tl::unexpected(key.error());
  loaded.key = std::move(*key);
  if (X509_check_private_key(loaded.chain.front().get(), loaded.key.get()) != 1) {
    return refuse(keys.private_key_name + " does not belong to " + keys.certificate_name + " (" +
                  subject_of(*loaded.chain.front()) +
                  "); give the key it was made with, and put the own certificate first");
  }
  if (keys.ca_pem.empty()) {
    if (!keys.peer_fingerprints.empty()) return loaded;
    return refuse(
        "with neither a CA nor a pinned fingerprint no peer could be believed; give one of both");
  }
  auto authorities = read_certificates(keys.ca_pem, keys.ca_name);
  if (!authorities) return tl::unexpected(authorities.error());
  loaded.authorities = std::move(*authorities);
  return loaded;
}

/// A peer is a Longhaul too, and takes what we would take.
Result<void> check_length(SSL_CTX& context, const std::vector<X509Ptr>& chain) {
  const std::size_t bytes = message_bytes(chain);
  const auto max = static_cast<std::size_t>(SSL_CTX_get_max_cert_list(&context));
  if (bytes <= max) return {};
  return refuse("the own certificate and its chain, " + std::to_string(chain.size()) +
                " certificates, take " + std::to_string(bytes) + " bytes, and a peer takes " +
                std::to_string(max) +
                "; leave in the file the own certificate and what stands between it and the root");
}

Result<SslContextPtr> make_certificate_context(TlsRole role, const Loaded& loaded,
                                               const PeerRule& rule, const std::string& own) {
  SslContextPtr context = make_context(role, false);
  if (context == nullptr) return fail(ErrorCode::system, "OpenSSL has no TLS 1.3 to offer");
  if (SSL_CTX_use_certificate(context.get(), loaded.chain.front().get()) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), loaded.key.get()) != 1) {
    return refuse("OpenSSL does not take " + own + " or its key" + openssl_words() +
                  "; issue one with a key of P-256, Ed25519 or RSA with 2048 bits or more");
  }
  for (std::size_t i = 1; i < loaded.chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context.get(), loaded.chain[i].get()) != 1) {
      return refuse("OpenSSL does not take certificate " + std::to_string(i + 1) + " of " + own +
                    openssl_words() + "; issue a new one");
    }
  }
  if (auto checked = check_length(*context, loaded.chain); !checked) {
    return tl::unexpected(checked.error());
  }
  X509_STORE* const store = SSL_CTX_get_cert_store(context.get());
  for (const X509Ptr& authority : loaded.authorities) X509_STORE_add_cert(store, authority.get());
  if (!rule.install(*context)) {
    return refuse(
        "peer_name " + rule.name +
        " is neither a host name nor an address; give the name in the peer's certificate");
  }
  return context;
}

}  // namespace

void TlsCredentials::prefer(PacketCipher cipher) {
  for (SSL_CTX* const context : {client_.get(), server_.get()}) {
    set_cipher_preference(*context, cipher);
  }
}

Result<std::shared_ptr<Credentials>> Credentials::from_psk(const PskKey& key) {
  if (!is_psk_identity(key.identity)) {
    return refuse("the name of a key is 1 to 64 of A-Z a-z 0-9 . _ -; choose another");
  }
  const ErrorScope errors;
  auto credentials = std::make_shared<TlsCredentials>(key);
  SslContextPtr client = make_context(TlsRole::client, true);
  SslContextPtr server = make_context(TlsRole::server, true);
  if (client == nullptr || server == nullptr) {
    return fail(ErrorCode::system, "OpenSSL has no TLS 1.3 to offer" + openssl_words());
  }
  credentials->set_contexts(std::move(client), std::move(server));
  return credentials;
}

Result<std::shared_ptr<Credentials>> Credentials::from_certificates(const CertificateKeys& keys) {
  const ErrorScope errors;
  const Result<Loaded> loaded = load(keys);
  if (!loaded) return tl::unexpected(loaded.error());
  const PeerRule rule{keys.peer_fingerprints, keys.peer_name};
  auto client = make_certificate_context(TlsRole::client, *loaded, rule, keys.certificate_name);
  if (!client) return tl::unexpected(client.error());
  auto server = make_certificate_context(TlsRole::server, *loaded, rule, keys.certificate_name);
  if (!server) return tl::unexpected(server.error());
  auto credentials = std::make_shared<TlsCredentials>(rule);
  credentials->set_contexts(std::move(*client), std::move(*server));
  return credentials;
}

}  // namespace longhaul::crypto
