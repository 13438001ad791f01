// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/hex.hpp"

namespace longhaul::crypto {
namespace {

int value_of(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

bool from_hex(std::string_view digits, std::span<std::byte> out) noexcept {
  if (digits.size() != 2 * out.size()) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = value_of(digits[2 * i]);
    const int low = value_of(digits[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::byte>(high * 16 + low);
  }
  return true;
}

void append_hex(std::span<const std::byte> bytes, std::string_view separator, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0) out.append(separator);
    out.push_back(kDigits[std::to_integer<std::size_t>(bytes[i]) >> 4]);
    out.push_back(kDigits[std::to_integer<std::size_t>(bytes[i]) & 15]);
  }
}

}  // namespace longhaul::crypto
