// SPDX-License-Identifier: Apache-2.0
// Bytes as C libraries take them.
#pragma once

#include <cstddef>
#include <span>

namespace longhaul::crypto {

inline const unsigned char* octets(std::span<const std::byte> bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
inline unsigned char* writable_octets(std::span<std::byte> bytes) noexcept {
  return reinterpret_cast<unsigned char*>(bytes.data());
}
inline std::span<const std::byte> bytes_of(const void* data, std::size_t size) noexcept {
  return {static_cast<const std::byte*>(data), size};
}

}  // namespace longhaul::crypto
