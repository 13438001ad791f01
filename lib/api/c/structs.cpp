// SPDX-License-Identifier: Apache-2.0
#include "lib/api/c/structs.hpp"

namespace longhaul::api::c {
namespace {

// Members come in pairs of four bytes or are aligned to eight, so no size of this kind cuts one.
constexpr std::size_t kSizeStep = 8;

}  // namespace

tl::unexpected<Error> invalid(std::string context) {
  return fail(ErrorCode::invalid_argument, std::move(context));
}

bool possible_size(std::size_t size) noexcept {
  return size != 0 && size <= LONGHAUL_STRUCT_SIZE_MAX && size % kSizeStep == 0;
}

Result<std::uint32_t> size_of(const void* from, std::string_view name) {
  if (from == nullptr) return invalid(std::string(name) + " is NULL");
  std::uint32_t size = 0;
  std::memcpy(&size, from, sizeof size);
  if (!possible_size(size)) {
    return invalid("struct_size of " + std::string(name) + " is " + std::to_string(size) +
                   ", which no release has; set it to sizeof(" + std::string(name) +
                   "), as its _init function does");
  }
  return size;
}

Result<void> check_tail(const void* from, std::size_t size, std::size_t known,
                        std::string_view name) {
  const auto* bytes = static_cast<const unsigned char*>(from);
  for (std::size_t at = known; at < size; ++at) {
    if (bytes[at] == 0) continue;
    return invalid(std::string(name) + " says something at byte " + std::to_string(at) +
                   " that this library is too old for (it knows " + std::to_string(known) +
                   " bytes); leave it zero, or load a newer liblonghaul");
  }
  return {};
}

void copy_text(char* to, std::size_t capacity, std::string_view text) noexcept {
  std::size_t length = std::min(text.size(), capacity - 1);
  if (length < text.size()) {
    // Bytes 10xxxxxx continue a character of UTF-8.
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) --length;
  }
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

}  // namespace longhaul::api::c
