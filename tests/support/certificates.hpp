// SPDX-License-Identifier: Apache-2.0
// Certificates for tests, made on the spot.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace longhaul::tests {

enum class KeyType { p256, ed25519, rsa2048 };

struct CertificateOptions {
  std::string name = "node";          ///< common name, and DNS or IP name if `listed`
  bool listed = true;                 ///< in subjectAltName
  std::chrono::hours valid_from{-1};  ///< from now
  std::chrono::hours valid_until{24};
  std::string extended_usage{};  ///< as in openssl.cnf, "serverAuth"; empty: no such extension
  KeyType key = KeyType::p256;
};

/// A certificate (with what stands between it and its root) and its private key, in PEM.
struct Certified {
  std::string certificate_pem;
  std::string private_key_pem;
};

/// Signs certificates, also of further authorities.
class Authority {
 public:
  /// A root.
  explicit Authority(std::string_view name = "test CA");
  ~Authority();
  Authority(Authority&&) noexcept;
  Authority& operator=(Authority&&) noexcept;

  /// Of this authority alone; what a peer gets as its list of CAs.
  std::string certificate_pem() const;
  Certified issue(const CertificateOptions& options) const;
  Authority intermediate(std::string_view name) const;

 private:
  struct Impl;
  explicit Authority(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

Certified self_signed(const CertificateOptions& options);

}  // namespace longhaul::tests
