// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/credentials.hpp"
#include "lib/crypto/hex.hpp"

namespace longhaul::crypto {
namespace {

constexpr std::string_view kPrefix = "sha256:";
constexpr std::size_t kDigits = 2 * std::tuple_size_v<Fingerprint>;

}  // namespace

Result<Fingerprint> parse_fingerprint(std::string_view text) {
  if (text.starts_with(kPrefix)) text.remove_prefix(kPrefix.size());
  std::string digits;
  digits.reserve(kDigits);
  // Colons stand between all bytes or nowhere.
  const bool colons = text.size() == kDigits + kDigits / 2 - 1;
  for (std::size_t i = 0; i < text.size() && digits.size() <= kDigits; ++i) {
    const bool separator = colons && i % 3 == 2;
    if (separator && text[i] != ':') break;
    if (!separator) digits.push_back(text[i]);
  }
  Fingerprint fingerprint;
  if (!from_hex(digits, fingerprint)) {
    return fail(ErrorCode::invalid_argument,
                "a fingerprint is the SHA-256 of a certificate: 64 hexadecimal digits, or 32 pairs "
                "with colons; openssl x509 -noout -fingerprint -sha256 prints it");
  }
  return fingerprint;
}

std::string to_string(const Fingerprint& fingerprint) {
  std::string text;
  text.reserve(kDigits + kDigits / 2);
  append_hex(fingerprint, ":", text);
  return text;
}

}  // namespace longhaul::crypto
