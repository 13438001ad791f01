// SPDX-License-Identifier: Apache-2.0
#include "lib/base/plain_text.hpp"

#include <algorithm>
#include <cstdint>

namespace longhaul::base {
namespace {

struct Character {
  char32_t code;
  std::size_t bytes;  ///< 0: what stands here is no UTF-8
};

/// The first character of a text that is not empty (RFC 3629: shortest form, no surrogates).
Character first_of(std::string_view text) noexcept {
  const auto lead = static_cast<std::uint8_t>(text.front());
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {0, 0};
  char32_t code = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<std::uint8_t>(text[i]);
    if ((next & 0xc0) != 0x80) return {0, 0};
    code = code << 6 | (next & 0x3fU);
  }
  const char32_t least = bytes == 2 ? 0x80 : bytes == 3 ? 0x800 : 0x10000;
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < least || code > 0x10ffff || surrogate) return {0, 0};
  return {code, bytes};
}

bool is_plain(char32_t code) noexcept {
  const auto within = [code](char32_t first, char32_t last) {
    return code >= first && code <= last;
  };
  const bool control = code < 0x20 || within(0x7f, 0x9f);
  const bool turns =
      code == 0x61c || within(0x200e, 0x200f) || within(0x202a, 0x202e) || within(0x2066, 0x2069);
  return !control && !turns && !within(0x2028, 0x2029);
}

}  // namespace

std::string plain_text(std::string_view foreign, std::size_t max) {
  std::string result;
  result.reserve(std::min(foreign.size(), max));
  std::size_t at = 0;
  while (at < foreign.size()) {
    const Character character = first_of(foreign.substr(at));
    const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
    if (at + bytes > max) return result + "…";
    if (character.bytes > 0 && is_plain(character.code)) {
      result += foreign.substr(at, bytes);
    } else {
      result += '?';
    }
    at += bytes;
  }
  return result;
}

}  // namespace longhaul::base
