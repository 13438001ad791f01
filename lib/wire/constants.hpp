// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace longhaul::wire {

inline constexpr std::uint32_t kVersion = 0x4c480001;

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

inline constexpr std::uint32_t kAliasMax = 0xffffff;
inline constexpr std::uint32_t kChunkIndexMax = 0xffffff;
inline constexpr std::size_t kDigestBytes = 8;
inline constexpr std::uint64_t kPiecesPerGroup = 64;

}  // namespace longhaul::wire
