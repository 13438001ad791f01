// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace longhaul::crypto {

/// What some editors put in front of a text file in UTF-8; nobody can see it.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

inline std::string_view without_mark(std::string_view text) noexcept {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

}  // namespace longhaul::crypto
