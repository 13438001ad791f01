// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "longhaul/export.hpp"
#include "longhaul/result.hpp"

namespace longhaul {

/// A new pre-shared key in its text form, with a comment that says what it is: what
/// `EndpointConfig::psk` takes, and `psk_file` holds. 256 bits of the system's randomness.
/// `identity` is the name by which the peer knows the key, 1 to 64 of [A-Za-z0-9._-]; it is no
/// secret. Whoever has the text may connect to, and pose as, any endpoint that has it: keep it
/// where only its owner can read it, and overwrite it in memory once it is written. Any thread.
/// Errors: invalid_argument, system.
LONGHAUL_API Result<std::string> generate_key(std::string_view identity);

}  // namespace longhaul
