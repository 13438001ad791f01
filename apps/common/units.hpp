// SPDX-License-Identifier: Apache-2.0
// What people type on a command line and read on a terminal: sizes, rates, durations, shares.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "longhaul/result.hpp"
#include "longhaul/time.hpp"

namespace longhaul::apps {

/// "64M" → 67108864. Suffixes K M G T are powers of 1024, as iperf3 has it for sizes.
Result<std::uint64_t> parse_size(std::string_view text);
/// True when the text ends in a size suffix (so that "1G" is bytes and "100" a count).
bool has_size_suffix(std::string_view text) noexcept;
/// "900M" → 900000000 bits per second. Suffixes K M G T are powers of 1000.
Result<std::uint64_t> parse_rate(std::string_view text);
/// "25ms", "1.5s", "300us". A plain number takes `plain_unit`; without one it is refused.
Result<Duration> parse_duration(std::string_view text, std::optional<Duration> plain_unit);
/// "1%", "0.01" or "1e-2" → 0.01; anything outside 0…1 is refused.
Result<double> parse_probability(std::string_view text);
/// A decimal number from `least` to `limit`.
Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t limit,
                                   std::uint64_t least = 0);
/// "4096x4096" → {4096, 4096}; at most 8 extents.
Result<std::vector<std::uint64_t>> parse_extents(std::string_view text);

/// a × b, or nothing when it does not fit 64 bits.
std::optional<std::uint64_t> checked_product(std::uint64_t a, std::uint64_t b) noexcept;

/// "1.25 GBytes": iperf3's words, powers of 1024.
std::string format_bytes(std::uint64_t bytes);
/// "943 Mbits/sec": powers of 1000.
std::string format_rate(double bits_per_second);

}  // namespace longhaul::apps
