// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tl/expected.hpp>

#include "longhaul/error.hpp"

namespace longhaul {

/// A value or an `Error`. No exception crosses the API.
template <typename T>
using Result = tl::expected<T, Error>;

/// `return fail(ErrorCode::closed);`
inline tl::unexpected<Error> fail(ErrorCode code, std::string context = {}, int os_error = 0) {
  return tl::unexpected<Error>(Error{code, os_error, std::move(context)});
}

}  // namespace longhaul
