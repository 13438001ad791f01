// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "longhaul/result.hpp"

namespace longhaul::apps::perf {

/// A codepoint by the name RFC 4594, 5865 or 8622 gives it ("af41", "EF", "le"), or by number 0…63
/// in decimal, 0x or octal.
Result<std::uint8_t> parse_dscp(std::string_view text);
/// The codepoint of a type-of-service byte, as iperf3's -S takes it. One that says something about
/// ECN is refused: those bits are the transport's.
Result<std::uint8_t> dscp_of_tos(std::string_view text);

}  // namespace longhaul::apps::perf
