// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/peer_rule.hpp"

#include <openssl/x509v3.h>

#include <algorithm>

#include "lib/base/plain_text.hpp"

namespace longhaul::crypto {
namespace {

constexpr std::size_t kTextMax = 200;
constexpr unsigned kNameFlags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;

/// What was written to a memory BIO, as it suits a log line: whoever made the certificate chose it.
std::string text_of(BIO& bio) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(&bio, &text);
  return base::plain_text({text, static_cast<std::size_t>(std::max(size, 0L))}, kTextMax);
}

std::string text_of(const ASN1_TIME* time) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || ASN1_TIME_print(bio.get(), time) != 1) return "an unreadable date";
  return text_of(*bio);
}

struct FreeNames {
  void operator()(GENERAL_NAMES* names) const noexcept { GENERAL_NAMES_free(names); }
};

/// "DNS:a, DNS:b", or the subject if no names are listed.
std::string names_in(X509& certificate) {
  const std::unique_ptr<GENERAL_NAMES, FreeNames> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  const BioPtr bio(BIO_new(BIO_s_mem()));
  const int count = names == nullptr ? 0 : sk_GENERAL_NAME_num(names.get());
  if (bio == nullptr || count == 0) return subject_of(certificate);
  for (int i = 0; i < count; ++i) {
    if (i > 0) BIO_puts(bio.get(), ", ");
    GENERAL_NAME_print(bio.get(), sk_GENERAL_NAME_value(names.get(), i));
  }
  return text_of(*bio);
}

bool has_name(X509& certificate, const std::string& name) {
  const int as_address = X509_check_ip_asc(&certificate, name.c_str(), 0);
  if (as_address >= 0) return as_address == 1;  // below 0: the name is no address
  return X509_check_host(&certificate, name.data(), name.size(), kNameFlags, nullptr) == 1;
}

std::string refusal_of_chain(X509_STORE_CTX& chain, const std::string& wanted_name) {
  X509* const leaf = X509_STORE_CTX_get0_cert(&chain);
  X509* const current = X509_STORE_CTX_get_current_cert(&chain);
  X509& blamed = current != nullptr ? *current : *leaf;
  const bool is_leaf = X509_STORE_CTX_get_error_depth(&chain) == 0;
  const std::string which =
      (is_leaf ? "the peer's certificate (" : "a CA above the peer's (") + subject_of(blamed) + ")";
  const int error = X509_STORE_CTX_get_error(&chain);
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return which + " expired on " + text_of(X509_get0_notAfter(&blamed)) +
             "; renew it, or set the clock of this machine";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return which + " is not valid before " + text_of(X509_get0_notBefore(&blamed)) +
             "; wait, or set the clock of this machine";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "the peer's certificate is made out to " + names_in(*leaf) + " and not to " +
             wanted_name + "; connect to the name it has, or issue one with this name";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:  // a CA of that name, but not that one
      return "no CA we trust signed the peer's certificate (" + subject_of(*leaf) +
             "); add its CA to ours, let the peer send its chain, or pin its fingerprint sha256:" +
             to_string(fingerprint_of(*leaf));
    case X509_V_ERR_INVALID_PURPOSE:
      return which +
             " has an extended key usage that does not allow this; issue one with both "
             "serverAuth and clientAuth, or with none";
    default:
      return which + " does not verify: " + X509_verify_cert_error_string(error) +
             "; issue a new one";
  }
}

}  // namespace

Fingerprint fingerprint_of(const X509& certificate) {
  Fingerprint fingerprint{};
  unsigned size = 0;
  X509_digest(&certificate, EVP_sha256(), writable_octets(fingerprint), &size);
  return fingerprint;
}

std::string subject_of(const X509& certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr) return "?";
  X509_NAME_print_ex(bio.get(), X509_get_subject_name(&certificate), 0, XN_FLAG_RFC2253);
  return text_of(*bio);
}

bool PeerRule::install(SSL_CTX& context) const {
  X509_VERIFY_PARAM* const param = SSL_CTX_get0_param(&context);
  // Whatever certificate stands in the list of CAs is one, also if another CA signed it.
  X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN);
  if (name.empty() || X509_VERIFY_PARAM_set1_ip_asc(param, name.c_str()) == 1) return true;
  X509_VERIFY_PARAM_set_hostflags(param, kNameFlags);
  return X509_VERIFY_PARAM_set1_host(param, name.data(), name.size()) == 1;
}

bool PeerRule::judge(X509_STORE_CTX& chain, std::string& refusal) const {
  if (pins.empty()) {
    if (X509_verify_cert(&chain) == 1) return true;
    refusal = refusal_of_chain(chain, name);
    return false;
  }
  const X509& certificate = *X509_STORE_CTX_get0_cert(&chain);
  const Fingerprint shown = fingerprint_of(certificate);
  const bool pinned = std::ranges::find(pins, shown) != pins.end();
  X509_STORE_CTX_set_error(&chain, pinned ? X509_V_OK : X509_V_ERR_CERT_REJECTED);
  if (!pinned) {
    refusal = "the peer's certificate (" + subject_of(certificate) +
              ") has a fingerprint that is not pinned: sha256:" + to_string(shown) +
              "; if it is the right one, pin it";
  }
  return pinned;
}

bool PeerRule::still_believed(X509* certificate) const {
  if (certificate == nullptr) return false;
  if (!pins.empty()) return std::ranges::find(pins, fingerprint_of(*certificate)) != pins.end();
  return X509_cmp_current_time(X509_get0_notBefore(certificate)) < 0 &&
         X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0 &&
         (name.empty() || has_name(*certificate, name));
}

}  // namespace longhaul::crypto
