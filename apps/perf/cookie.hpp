// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace longhaul::apps::perf {

/// What a completion belongs to; the upper byte of its cookie.
enum class Purpose : std::uint8_t {
  none = 0,
  control_send,
  control_receive,
  blob_send,     ///< raw file header or digests
  blob_receive,  ///< the same at the other end
  data_send,
  data_receive,
};

inline constexpr unsigned kPurposeShift = 56;

constexpr std::uint64_t make_cookie(Purpose purpose, std::uint64_t index) noexcept {
  return static_cast<std::uint64_t>(purpose) << kPurposeShift | index;
}
constexpr Purpose purpose_of(std::uint64_t cookie) noexcept {
  return static_cast<Purpose>(cookie >> kPurposeShift);
}
constexpr std::uint64_t index_of(std::uint64_t cookie) noexcept {
  return cookie & ((std::uint64_t{1} << kPurposeShift) - 1);
}

}  // namespace longhaul::apps::perf
