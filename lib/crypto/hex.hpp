// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace longhaul::crypto {

/// Two digits a byte, upper or lower case, exactly `out`; false if that is not what `digits` are.
bool from_hex(std::string_view digits, std::span<std::byte> out) noexcept;
/// Lower case, `separator` between bytes.
void append_hex(std::span<const std::byte> bytes, std::string_view separator, std::string& out);

}  // namespace longhaul::crypto
