// SPDX-License-Identifier: Apache-2.0
#include "tests/support/certificates.hpp"

#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstdlib>

#include "lib/crypto/hex.hpp"
#include "lib/crypto/openssl.hpp"

namespace longhaul::tests {
namespace {

using crypto::BioPtr;
using crypto::KeyPtr;
using crypto::X509Ptr;

// A test that cannot make its certificates has nothing to say.
void require(bool done) {
  if (!done) std::abort();
}

KeyPtr new_key(KeyType type) {
  switch (type) {
    case KeyType::ed25519:
      return KeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
    case KeyType::rsa2048:
      return KeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{2048}));
    case KeyType::p256:
      break;
  }
  return KeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
}

void add_extension(X509& certificate, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, &certificate, &certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  require(extension != nullptr && X509_add_ext(&certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

// As it is, also with what would end a line in openssl.cnf.
void list_name(X509& certificate, int kind, const std::string& name) {
  GENERAL_NAMES* const names = GENERAL_NAMES_new();
  GENERAL_NAME* const entry = a2i_GENERAL_NAME(nullptr, nullptr, nullptr, kind, name.c_str(), 0);
  require(names != nullptr && entry != nullptr && sk_GENERAL_NAME_push(names, entry) > 0);
  require(X509_add1_ext_i2d(&certificate, NID_subject_alt_name, names, 0, 0) == 1);
  GENERAL_NAMES_free(names);
}

void set_lifetime(X509& certificate, std::chrono::seconds from, std::chrono::seconds until) {
  X509_gmtime_adj(X509_getm_notBefore(&certificate), from.count());
  X509_gmtime_adj(X509_getm_notAfter(&certificate), until.count());
}

X509Ptr blank(const std::string& name, EVP_PKEY& key) {
  X509Ptr certificate(X509_new());
  require(certificate != nullptr);
  X509_set_version(certificate.get(), X509_VERSION_3);
  std::uint64_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial >> 1);
  X509_set_pubkey(certificate.get(), &key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

void sign(X509& certificate, const X509& issuer, EVP_PKEY& key) {
  X509_set_issuer_name(&certificate, X509_get_subject_name(&issuer));
  const bool own_hash = EVP_PKEY_get_base_id(&key) == EVP_PKEY_ED25519;
  require(X509_sign(&certificate, &key, own_hash ? nullptr : EVP_sha256()) > 0);
}

std::string text_of(BIO& bio) {
  std::string text(BIO_ctrl_pending(&bio), '\0');
  BIO_read(&bio, text.data(), static_cast<int>(text.size()));
  return text;
}

std::string pem_of(X509& certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_X509(bio.get(), &certificate) == 1);
  return text_of(*bio);
}

std::string pem_of(EVP_PKEY& key) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_PrivateKey(bio.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return text_of(*bio);
}

std::string fingerprint_of(const X509& certificate) {
  std::array<std::byte, 32> digest;
  unsigned size = 0;
  require(X509_digest(&certificate, EVP_sha256(), crypto::writable_octets(digest), &size) == 1);
  std::string text;
  crypto::append_hex(digest, {}, text);
  return text;
}

X509Ptr leaf_of(const CertificateOptions& options, EVP_PKEY& key) {
  X509Ptr certificate = blank(options.name, key);
  set_lifetime(*certificate, options.valid_from, options.valid_until);
  if (options.listed) {
    ASN1_OCTET_STRING* const address = a2i_IPADDRESS(options.name.c_str());
    list_name(*certificate, address != nullptr ? GEN_IPADD : GEN_DNS, options.name);
    ASN1_OCTET_STRING_free(address);
  }
  if (!options.extended_usage.empty()) {
    add_extension(*certificate, NID_ext_key_usage, options.extended_usage);
  }
  return certificate;
}

}  // namespace

struct Authority::Impl {
  KeyPtr key;
  X509Ptr certificate;
  std::string chain_pem;  // what a peer needs between a certificate of ours and the root
};

Authority::Authority(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Authority::~Authority() = default;
Authority::Authority(Authority&&) noexcept = default;
Authority& Authority::operator=(Authority&&) noexcept = default;

Authority::Authority(std::string_view name) : impl_(std::make_unique<Impl>()) {
  impl_->key = new_key(KeyType::p256);
  impl_->certificate = blank(std::string(name), *impl_->key);
  set_lifetime(*impl_->certificate, std::chrono::hours(-24 * 365), std::chrono::hours(24 * 365));
  add_extension(*impl_->certificate, NID_basic_constraints, "critical,CA:TRUE");
  sign(*impl_->certificate, *impl_->certificate, *impl_->key);
}

std::string Authority::certificate_pem() const {
  return pem_of(*impl_->certificate);
}

Certified Authority::issue(const CertificateOptions& options) const {
  const KeyPtr key = new_key(options.key);
  const X509Ptr certificate = leaf_of(options, *key);
  sign(*certificate, *impl_->certificate, *impl_->key);
  return {pem_of(*certificate) + impl_->chain_pem, pem_of(*key), fingerprint_of(*certificate)};
}

Authority Authority::intermediate(std::string_view name) const {
  auto impl = std::make_unique<Impl>();
  impl->key = new_key(KeyType::p256);
  impl->certificate = blank(std::string(name), *impl->key);
  set_lifetime(*impl->certificate, std::chrono::hours(-24), std::chrono::hours(24 * 30));
  add_extension(*impl->certificate, NID_basic_constraints, "critical,CA:TRUE");
  sign(*impl->certificate, *impl_->certificate, *impl_->key);
  impl->chain_pem = pem_of(*impl->certificate) + impl_->chain_pem;
  return Authority(std::move(impl));
}

Certified self_signed(const CertificateOptions& options) {
  const KeyPtr key = new_key(options.key);
  const X509Ptr certificate = leaf_of(options, *key);
  sign(*certificate, *certificate, *key);
  return {pem_of(*certificate), pem_of(*key), fingerprint_of(*certificate)};
}

std::string encrypted(const std::string& private_key_pem, const std::string& passphrase) {
  const BioPtr in(
      BIO_new_mem_buf(private_key_pem.data(), static_cast<int>(private_key_pem.size())));
  const KeyPtr key(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
  const BioPtr out(BIO_new(BIO_s_mem()));
  const auto* const phrase = reinterpret_cast<const unsigned char*>(passphrase.data());
  require(PEM_write_bio_PrivateKey(out.get(), key.get(), EVP_aes_128_cbc(), phrase,
                                   static_cast<int>(passphrase.size()), nullptr, nullptr) == 1);
  return text_of(*out);
}

}  // namespace longhaul::tests
