// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace longhaul::base {

/// Reads big-endian integers from the front of bytes it does not own. What would run over the end
/// reads as 0 or an empty span, consumes everything and makes `failed()` true for good, so that a
/// parser may check once at its end.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  std::uint8_t u8() noexcept { return static_cast<std::uint8_t>(integer<1>()); }
  std::uint16_t u16() noexcept { return static_cast<std::uint16_t>(integer<2>()); }
  std::uint32_t u24() noexcept { return static_cast<std::uint32_t>(integer<3>()); }
  std::uint32_t u32() noexcept { return static_cast<std::uint32_t>(integer<4>()); }
  std::uint64_t u64() noexcept { return integer<8>(); }
  /// RFC 9000 §16; longer encodings than necessary are accepted.
  std::uint64_t varint() noexcept {
    if (rest_.empty()) return fail();
    switch (std::to_integer<unsigned>(rest_[0]) >> 6) {
      case 0:
        return integer<1>();
      case 1:
        return integer<2>() & 0x3fff;
      case 2:
        return integer<4>() & 0x3fffffff;
      default:
        return integer<8>() & 0x3fffffffffffffff;
    }
  }
  std::span<const std::byte> bytes(std::size_t count) noexcept {
    if (count > rest_.size()) {
      fail();
      return {};
    }
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  /// Everything not read yet, which is then read.
  std::span<const std::byte> rest() noexcept { return bytes(rest_.size()); }

  std::size_t remaining() const noexcept { return rest_.size(); }
  bool failed() const noexcept { return failed_; }

 private:
  template <std::size_t kBytes>
  std::uint64_t integer() noexcept {
    if (rest_.size() < kBytes) return fail();
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < kBytes; ++i) {
      value = value << 8 | std::to_integer<std::uint64_t>(rest_[i]);
    }
    rest_ = rest_.subspan(kBytes);
    return value;
  }
  std::uint64_t fail() noexcept {
    failed_ = true;
    rest_ = {};
    return 0;
  }

  std::span<const std::byte> rest_;
  bool failed_ = false;
};

}  // namespace longhaul::base
