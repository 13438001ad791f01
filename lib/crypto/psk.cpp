// SPDX-License-Identifier: Apache-2.0
#include <openssl/rand.h>

#include <algorithm>
#include <optional>

#include "lib/crypto/byte_order_mark.hpp"
#include "lib/crypto/credentials.hpp"
#include "lib/crypto/hex.hpp"
#include "lib/crypto/openssl.hpp"

namespace longhaul::crypto {
namespace {

constexpr std::string_view kFormat = "longhaul-psk-1";
constexpr std::string_view kBlank = " \t\r";
constexpr std::string_view kRemedy = "; a key file has one line: longhaul-psk-1 NAME 64-HEX-DIGITS";

tl::unexpected<Error> refuse(std::string cause) {
  return fail(ErrorCode::invalid_argument, cause.append(kRemedy));
}

/// The next word of `line`, which loses it.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlank));
  line.remove_prefix(word.size());
  return word;
}

Result<PskKey> parse_line(std::string_view line, std::size_t number) {
  const std::string where = " in line " + std::to_string(number) + " of the key";
  if (take_word(line) != kFormat) {
    return refuse("no " + std::string(kFormat) + where);
  }
  PskKey key;
  key.identity = take_word(line);
  if (!is_psk_identity(key.identity)) {
    return refuse("a name that is not 1 to 64 of A-Z a-z 0-9 . _ -" + where);
  }
  const std::string_view digits = take_word(line);
  if (digits.size() != 2 * Secret::kBytes || !from_hex(digits, key.secret.writable())) {
    return refuse("not 64 hexadecimal digits" + where);
  }
  if (!take_word(line).empty()) return refuse("more than name and digits" + where);
  return key;
}

}  // namespace

bool is_psk_identity(std::string_view text) noexcept {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !text.empty() && text.size() <= kPskIdentityMax &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

Result<PskKey> PskKey::parse(std::string_view text) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    return refuse("UTF-16, as some editors save it, where UTF-8 or ASCII belongs");
  }
  std::optional<PskKey> key;
  text = without_mark(text);
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    if (line.empty() || line.front() == '#') continue;
    if (key) return refuse("a second key in line " + std::to_string(number));
    Result<PskKey> read = parse_line(line, number);
    if (!read) return read;
    key = *read;
  }
  if (!key) return refuse("no key in it");
  return *key;
}

Result<PskKey> PskKey::generate(std::string_view identity) {
  if (!is_psk_identity(identity)) {
    return fail(ErrorCode::invalid_argument,
                "the name of a key is 1 to 64 of A-Z a-z 0-9 . _ -; choose another");
  }
  const ErrorScope errors;
  PskKey key;
  key.identity = identity;
  if (RAND_priv_bytes(writable_octets(key.secret.writable()), static_cast<int>(Secret::kBytes)) !=
      1) {
    return fail(ErrorCode::system, "the system gave no randomness for a key");
  }
  return key;
}

std::string PskKey::text() const {
  std::string text;
  text.reserve(256);  // growing would leave copies of the key behind
  text.append("# Pre-shared key of Longhaul. Both ends need it; whoever has it can be either.\n");
  text.append(kFormat).append(" ").append(identity).append(" ");
  append_hex(secret.bytes(), {}, text);
  return text.append("\n");
}

}  // namespace longhaul::crypto
