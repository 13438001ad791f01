// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace longhaul::base {

/// Largest value a variable-length integer (RFC 9000 §16) carries: 2^62 − 1.
inline constexpr std::uint64_t kVarintMax = (std::uint64_t{1} << 62) - 1;

/// Writes big-endian integers to the front of bytes it does not own. What does not fit is not
/// written at all and makes `failed()` true for good; nothing is written after that, and
/// `written()` counts what came before.
class ByteWriter {
 public:
  explicit ByteWriter(std::span<std::byte> bytes) noexcept : out_(bytes) {}

  /// Bytes of `value` as a variable-length integer; 0 above kVarintMax.
  static constexpr std::size_t varint_size(std::uint64_t value) noexcept {
    if (value < 1u << 6) return 1;
    if (value < 1u << 14) return 2;
    if (value < 1u << 30) return 4;
    return value <= kVarintMax ? 8 : 0;
  }

  void u8(std::uint8_t value) noexcept { integer<1>(value); }
  void u16(std::uint16_t value) noexcept { integer<2>(value); }
  /// Fails above 2^24 − 1.
  void u24(std::uint32_t value) noexcept {
    if (value >> 24 != 0) {
      failed_ = true;
    } else {
      integer<3>(value);
    }
  }
  void u32(std::uint32_t value) noexcept { integer<4>(value); }
  void u64(std::uint64_t value) noexcept { integer<8>(value); }
  /// The shortest encoding; fails above kVarintMax.
  void varint(std::uint64_t value) noexcept {
    switch (varint_size(value)) {
      case 1:
        return integer<1>(value);
      case 2:
        return integer<2>(value | std::uint64_t{1} << 14);
      case 4:
        return integer<4>(value | std::uint64_t{2} << 30);
      case 8:
        return integer<8>(value | std::uint64_t{3} << 62);
      default:
        failed_ = true;
    }
  }
  void bytes(std::span<const std::byte> source) noexcept {
    if (room(source.size())) std::ranges::copy(source, take(source.size()));
  }
  void fill(std::size_t count, std::byte value) noexcept {
    if (room(count)) std::fill_n(take(count), count, value);
  }

  std::size_t written() const noexcept { return written_; }
  std::size_t remaining() const noexcept { return out_.size() - written_; }
  bool failed() const noexcept { return failed_; }

 private:
  bool room(std::size_t count) noexcept {
    if (count > remaining()) failed_ = true;
    return !failed_;
  }
  std::byte* take(std::size_t count) noexcept {
    std::byte* const begin = out_.data() + written_;
    written_ += count;
    return begin;
  }
  template <std::size_t kBytes>
  void integer(std::uint64_t value) noexcept {
    if (!room(kBytes)) return;
    std::byte* const begin = take(kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) {
      begin[i] = static_cast<std::byte>(value >> (8 * (kBytes - 1 - i)));
    }
  }

  std::span<std::byte> out_;
  std::size_t written_ = 0;
  bool failed_ = false;
};

}  // namespace longhaul::base
