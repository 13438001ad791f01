// SPDX-License-Identifier: Apache-2.0
// Owners of OpenSSL's objects. For .cpp files of this folder and for tests: no other header here
// shows OpenSSL.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>

#include "lib/crypto/octets.hpp"

namespace longhaul::crypto {

struct OpensslFree {
  void operator()(BIO* bio) const noexcept { BIO_free_all(bio); }
  void operator()(EVP_CIPHER* cipher) const noexcept { EVP_CIPHER_free(cipher); }
  void operator()(EVP_CIPHER_CTX* context) const noexcept { EVP_CIPHER_CTX_free(context); }
  void operator()(EVP_MAC* mac) const noexcept { EVP_MAC_free(mac); }
  void operator()(EVP_MAC_CTX* context) const noexcept { EVP_MAC_CTX_free(context); }
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
  void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
  void operator()(SSL_SESSION* session) const noexcept { SSL_SESSION_free(session); }
  void operator()(X509* certificate) const noexcept { X509_free(certificate); }
};

using BioPtr = std::unique_ptr<BIO, OpensslFree>;
using CipherPtr = std::unique_ptr<EVP_CIPHER, OpensslFree>;
using CipherContextPtr = std::unique_ptr<EVP_CIPHER_CTX, OpensslFree>;
using MacPtr = std::unique_ptr<EVP_MAC, OpensslFree>;
using MacContextPtr = std::unique_ptr<EVP_MAC_CTX, OpensslFree>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpensslFree>;
using SslPtr = std::unique_ptr<SSL, OpensslFree>;
using SslContextPtr = std::unique_ptr<SSL_CTX, OpensslFree>;
using SslSessionPtr = std::unique_ptr<SSL_SESSION, OpensslFree>;
using X509Ptr = std::unique_ptr<X509, OpensslFree>;

/// OpenSSL's errors wait in a queue of the thread. Inside a scope it holds ours alone, and nothing
/// of them is left for the application behind it.
class ErrorScope {
 public:
  ErrorScope() noexcept { ERR_clear_error(); }
  ~ErrorScope() { ERR_clear_error(); }
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;
};

}  // namespace longhaul::crypto
