// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace longhaul::wire {

inline constexpr std::uint32_t kVersion = 0x4c480002;

inline constexpr std::size_t kCommonHeaderBytes = 11;
inline constexpr std::size_t kSourceHeaderBytes = 18;
inline constexpr std::size_t kRepairHeaderBytes = 23;
inline constexpr std::size_t kControlHeaderBytes = kCommonHeaderBytes;
inline constexpr std::size_t kCrcBytes = 4;
inline constexpr std::size_t kAeadTagBytes = 16;
inline constexpr std::size_t kInitialDatagramMin = 1200;
inline constexpr std::size_t kResetTokenBytes = 16;
inline constexpr std::size_t kResetDatagramMin = 1 + 4 + 11 + kResetTokenBytes;
inline constexpr std::size_t kTokenBytesMax = 128;
/// What all versions of long packets begin with; see `peek_long`.
inline constexpr std::size_t kLongPeekBytes = 21;
/// Long packet of our version without token, integrity and frames.
inline constexpr std::size_t kLongHeaderBytes = 27;
inline constexpr std::size_t kVersionsMax = 16;

/// Packet numbers end here, since ACK carries them as variable-length integers.
inline constexpr std::uint64_t kPacketNumberMax = (std::uint64_t{1} << 62) - 1;
inline constexpr std::uint32_t kAliasMax = 0xffffff;
inline constexpr std::uint32_t kChunkIndexMax = 0xffffff;
inline constexpr std::size_t kDigestBytes = 8;
inline constexpr std::uint64_t kPiecesPerGroup = 64;
inline constexpr std::uint8_t kPieceLog2Max = 40;

}  // namespace longhaul::wire
