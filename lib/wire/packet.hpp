// SPDX-License-Identifier: Apache-2.0
// Packet headers, encoded and decoded; byte layouts stand in README.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/wire/constants.hpp"

namespace longhaul::wire {

enum class PacketType : std::uint8_t { source = 0, repair = 1, control = 2, digest = 3, reset = 7 };
enum class LongType : std::uint8_t { version_negotiation = 0, initial = 1, retry = 2, accept = 3 };

struct ShortHeader {
  PacketType type = PacketType::control;
  std::uint8_t key_phase = 0;  ///< 2 bits
  std::uint8_t reserved = 0;   ///< 2 bits, any value
  std::uint32_t connection_id = 0;
  std::uint16_t space = 0;
  std::uint32_t packet_number = 0;  ///< truncated
  // source, digest (chunk = group index), repair (chunk = first chunk)
  std::uint32_t alias = 0;
  std::uint8_t layout = 0;
  std::uint32_t chunk = 0;
  // repair only
  std::uint16_t stride = 0;
  std::uint8_t k = 0;
  std::uint8_t m = 0;
  std::uint8_t symbol = 0;
};

/// Header bytes of a short packet of this type, integrity not included; 0 for reset.
constexpr std::size_t header_bytes(PacketType type) noexcept {
  switch (type) {
    case PacketType::source:
    case PacketType::digest:
      return kSourceHeaderBytes;
    case PacketType::repair:
      return kRepairHeaderBytes;
    case PacketType::control:
      return kControlHeaderBytes;
    case PacketType::reset:
      return 0;
  }
  return 0;
}

constexpr bool is_long(std::byte first) noexcept {
  return (first & std::byte{0x80}) != std::byte{0};
}

/// Writes header_bytes(type) bytes to the front of `out`; returns how many, 0 (and nothing useful
/// in `out`) without room, for reset, or with an alias or chunk beyond 24 bits.
std::size_t write_short_header(const ShortHeader& header, std::span<std::byte> out) noexcept;
/// Reads any short header but reset; nullopt if too short or of unknown type. header_bytes(type)
/// bytes are consumed. Any field value is accepted: nothing is verified before integrity is.
std::optional<ShortHeader> read_short_header(std::span<const std::byte> packet) noexcept;

struct LongHeader {
  LongType type = LongType::initial;
  std::uint8_t reserved = 0;  ///< 4 bits, any value
  std::uint32_t version = kVersion;
  std::uint32_t destination_id = 0;
  std::uint32_t source_id = 0;
  std::uint64_t attempt = 0;
  std::uint32_t number = 0;
  std::span<const std::byte> token{};  ///< borrowed; at most kTokenBytesMax
};

/// A long packet whose integrity has been checked.
struct LongPacket {
  LongHeader header;
  std::span<const std::byte> frames;
};

/// Writes header, integrity and frames; returns the size, 0 if `out` is too small or the token too
/// long.
std::size_t write_long_packet(const LongHeader& header, std::span<const std::byte> frames,
                              std::span<std::byte> out) noexcept;
enum class LongError : std::uint8_t { malformed, integrity, unknown_version };
/// What every version has in the same place. Nothing of it is verified.
struct LongPeek {
  LongType type{};  ///< may be none of the enumerators
  std::uint32_t version = 0;
  std::uint32_t destination_id = 0;
  std::uint32_t source_id = 0;
  std::uint64_t attempt = 0;
};
/// nullopt if short or shorter than these fields.
std::optional<LongPeek> peek_long(std::span<const std::byte> packet) noexcept;
/// Reads an initial, retry or accept of our version; nullopt, and why in `error`, if it is none.
std::optional<LongPacket> read_long_packet(std::span<const std::byte> packet,
                                           LongError& error) noexcept;

/// Returns the size, 0 if `out` is too small or there are more than 255 versions.
std::size_t write_version_negotiation(std::uint32_t destination_id, std::uint64_t attempt,
                                      std::span<const std::uint32_t> versions,
                                      std::span<std::byte> out) noexcept;
/// nullopt if malformed; at most kVersionsMax versions are kept.
std::optional<std::vector<std::uint32_t>> read_version_negotiation(
    std::span<const std::byte> packet);

using ResetToken = std::array<std::byte, kResetTokenBytes>;
/// Writes first byte, ID and token around the bytes between them, which must already be random.
/// Returns the size of `out`, 0 if that is below kResetDatagramMin.
std::size_t write_reset(std::uint32_t connection_id, const ResetToken& token,
                        std::span<std::byte> out) noexcept;
struct Reset {
  std::uint32_t connection_id = 0;
  ResetToken token{};
};
/// Whether the token is right is for the caller to see.
std::optional<Reset> read_reset(std::span<const std::byte> packet) noexcept;

/// The 64-bit number nearest to `largest_received + 1` whose low `bits` bits are `truncated` (RFC
/// 9000 §A.3). `largest_received` is the next expected minus one; pass ~0 (that is, -1) when
/// nothing was received.
constexpr std::uint64_t expand_packet_number(std::uint64_t largest_received,
                                             std::uint32_t truncated, unsigned bits = 32) noexcept {
  const std::uint64_t expected = largest_received + 1;
  const std::uint64_t window = std::uint64_t{1} << bits;
  const std::uint64_t candidate = (expected & ~(window - 1)) | truncated;
  if (candidate + window / 2 <= expected && candidate <= kPacketNumberMax - window) {
    return candidate + window;
  }
  const bool too_high = candidate > expected + window / 2 || candidate > kPacketNumberMax;
  if (too_high && candidate >= window) return candidate - window;
  return candidate;
}

/// CRC32C over a ‖ b.
std::uint32_t crc32c(std::span<const std::byte> a, std::span<const std::byte> b = {}) noexcept;
/// The CRC32C of what `crc` is of, followed by `more`.
std::uint32_t crc32c_continue(std::uint32_t crc, std::span<const std::byte> more) noexcept;

}  // namespace longhaul::wire
