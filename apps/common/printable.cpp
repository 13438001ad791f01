// SPDX-License-Identifier: Apache-2.0
#include "apps/common/printable.hpp"

#include <cstdint>

namespace longhaul::apps {

namespace {

bool controls(char32_t code) noexcept {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

struct Character {
  std::size_t bytes;
  bool shown;
};

/// What a text that is not empty begins with; a byte that is no UTF-8 (RFC 3629) stands alone.
Character first_of(std::string_view text) noexcept {
  constexpr Character kNone{1, false};
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  if (byte(0) < 0x80) return {1, !controls(byte(0))};
  const std::size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < bytes) return kNone;
  char32_t code = byte(0) & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return kNone;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  const bool longer_than_needed = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool no_character = code > 0x10ffff || (code >= 0xd800 && code < 0xe000);
  if (longer_than_needed || no_character) return kNone;
  return {bytes, !controls(code)};
}

std::string filtered(std::string_view text, std::size_t limit, bool keeps_lines) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = first_of(text.substr(at));
    if (character.bytes > limit - at) return result + "...";
    const bool kept = character.shown || (keeps_lines && text[at] == '\n');
    result += kept ? text.substr(at, character.bytes) : "?";
    at += character.bytes;
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  return filtered(text, limit, false);
}

std::string printable_lines(std::string_view text) {
  return filtered(text, text.size(), true);
}

}  // namespace longhaul::apps
