// SPDX-License-Identifier: Apache-2.0
// Structs that grow: read and written by the size the caller knows (longhaul.h, "Structs").
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "longhaul/longhaul_types.h"
#include "longhaul/result.hpp"

namespace longhaul::api::c {

tl::unexpected<Error> invalid(std::string context);

/// Whether some release, past or future, may have a struct of this size.
bool possible_size(std::size_t size) noexcept;

/// The size a caller's struct says it has; refuses NULL and sizes no struct has.
Result<std::uint32_t> size_of(const void* from, std::string_view name);

/// Refuses a struct that says something beyond the `known` bytes.
Result<void> check_tail(const void* from, std::size_t size, std::size_t known,
                        std::string_view name);

/// A struct that can grow: its size never cuts a member, and nothing hides in padding at its end.
template <typename T>
concept Growing = std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> &&
    offsetof(T, struct_size)
== 0 && sizeof(T) % 8 == 0 && sizeof(T) <= LONGHAUL_STRUCT_SIZE_MAX;

/// What the caller says, over the defaults for what it does not know.
template <Growing T>
Result<T> read(const T* from, T value, std::string_view name) {
  const auto size = size_of(from, name);
  if (!size) return tl::unexpected(size.error());
  if (auto tail = check_tail(from, *size, sizeof(T), name); !tail) {
    return tl::unexpected(tail.error());
  }
  std::memcpy(&value, from, std::min<std::size_t>(*size, sizeof(T)));
  return value;
}

/// Gives the caller what it knows of `value`; what only the caller knows is zero. `size` is what
/// `size_of` found.
template <Growing T>
void write(void* to, std::uint32_t size, T value) noexcept {
  value.struct_size = size;
  std::memcpy(to, &value, std::min<std::size_t>(size, sizeof(T)));
  if (size > sizeof(T)) {
    std::memset(static_cast<std::byte*>(to) + sizeof(T), 0, size - sizeof(T));
  }
}

/// The body of the `_init` functions.
template <Growing T>
longhaul_code initialise(T* to, std::size_t size, const T& defaults) noexcept {
  if (to == nullptr || !possible_size(size)) return LONGHAUL_INVALID_ARGUMENT;
  write(to, static_cast<std::uint32_t>(size), defaults);
  return LONGHAUL_OK;
}

/// Cuts between characters and ends with a NUL; `capacity` is at least 1.
void copy_text(char* to, std::size_t capacity, std::string_view text) noexcept;

}  // namespace longhaul::api::c
