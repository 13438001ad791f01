// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "longhaul/result.hpp"

namespace longhaul::apps {

/// The 16 or 32 secret bytes a file holds. One that does not exist is made, with 32 random bytes,
/// for its owner alone (mode 0600); of two processes that make it at once both get the same. One
/// that others may read or write is refused: it is no secret.
Result<std::string> read_or_make_key(const std::string& path);

/// Makes a file with this content for its owner alone (mode 0600), whole or not at all. False if
/// there is one of that name, which stays as it is.
Result<bool> make_secret_file(const std::string& path, std::string_view content);

}  // namespace longhaul::apps
