// SPDX-License-Identifier: Apache-2.0
#include "lib/api/c/guard.hpp"

#include "lib/api/c/structs.hpp"

namespace longhaul::api::c {
namespace {

constexpr std::size_t kText = offsetof(longhaul_error, message);

longhaul_code fill(longhaul_error* error, longhaul_error value) noexcept {
  if (error == nullptr) return value.code;
  const std::size_t size = error->struct_size;
  // A text that a smaller struct cuts still ends with a NUL.
  if (size > kText && size < sizeof value) {
    const longhaul_error whole = value;
    copy_text(value.message, size - kText, whole.message);
  }
  write(error, error->struct_size, value);
  return value.code;
}

}  // namespace

bool usable(const longhaul_error* error) noexcept {
  return error == nullptr || possible_size(error->struct_size);
}

longhaul_code report(longhaul_error* error, ErrorCode code, int os_error,
                     std::string_view text) noexcept {
  longhaul_error value{};
  value.code = static_cast<longhaul_code>(code);
  value.os_error = os_error;
  copy_text(value.message, sizeof value.message, text);
  return fill(error, value);
}

longhaul_code succeed(longhaul_error* error) noexcept {
  return fill(error, longhaul_error{});
}

}  // namespace longhaul::api::c
