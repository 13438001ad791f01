// SPDX-License-Identifier: Apache-2.0
// An input of the targets `connection` and `protected_connection`.
#pragma once

#include <cstdint>

namespace longhaul::fuzz {

/// Plays the input (README.md), without keys or with, and checks what must hold.
void play_connection(const std::uint8_t* data, std::size_t size, bool secure);

}  // namespace longhaul::fuzz
