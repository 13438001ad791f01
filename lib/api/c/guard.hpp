// SPDX-License-Identifier: Apache-2.0
// The way out of every call: an answer, never an exception.
#pragma once

#include <exception>
#include <new>
#include <string_view>

#include "longhaul/longhaul_types.h"
#include "longhaul/result.hpp"

namespace longhaul::api::c {

/// Whether the caller's error can be written: NULL, or of a size some release has.
bool usable(const longhaul_error* error) noexcept;

/// Fills the caller's error, if it gave one, and returns the code. Never allocates.
longhaul_code report(longhaul_error* error, ErrorCode code, int os_error,
                     std::string_view text) noexcept;
longhaul_code succeed(longhaul_error* error) noexcept;

/// Runs a call, which returns Result<void>.
template <typename Call>
longhaul_code guarded(longhaul_error* error, Call&& call) noexcept {
  if (!usable(error)) return LONGHAUL_INVALID_ARGUMENT;
  try {
    const Result<void> result = call();
    if (result) return succeed(error);
    return report(error, result.error().code, result.error().os_error, result.error().context);
  } catch (const std::bad_alloc&) {
    return report(error, ErrorCode::budget_exceeded, 0, "out of memory");
  } catch (const std::exception& thrown) {
    return report(error, ErrorCode::internal, 0, thrown.what());
  } catch (...) {
    return report(error, ErrorCode::internal, 0, "a callback threw something");
  }
}

}  // namespace longhaul::api::c
