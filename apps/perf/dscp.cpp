// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/dscp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>

#include "apps/common/printable.hpp"
#include "apps/common/units.hpp"

namespace longhaul::apps::perf {

namespace {

constexpr unsigned kDscpMax = 63;
constexpr unsigned kTosMax = 255;
constexpr unsigned kEcnBits = 3;

struct Name {
  std::string_view text;
  std::uint8_t dscp;
};

constexpr std::array kNames{
    Name{"cs0", 0},          Name{"df", 0},    Name{"default", 0}, Name{"cs1", 8},
    Name{"cs2", 16},         Name{"cs3", 24},  Name{"cs4", 32},    Name{"cs5", 40},
    Name{"cs6", 48},         Name{"cs7", 56},  Name{"af11", 10},   Name{"af12", 12},
    Name{"af13", 14},        Name{"af21", 18}, Name{"af22", 20},   Name{"af23", 22},
    Name{"af31", 26},        Name{"af32", 28}, Name{"af33", 30},   Name{"af41", 34},
    Name{"af42", 36},        Name{"af43", 38}, Name{"ef", 46},     Name{"va", 44},
    Name{"voice-admit", 44}, Name{"le", 1},
};

/// 52, 064 and 0x34 are the same, as in iperf3.
std::optional<unsigned> parse_any_base(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.front() == '0') {
    base = 8;
  }
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace

Result<std::uint8_t> parse_dscp(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Name& name : kNames) {
    if (name.text == lower) return name.dscp;
  }
  const auto value = parse_any_base(text);
  if (!value || *value > kDscpMax) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("\"{}\" is no DSCP; take a name such as ef, af41, cs1 or le, or a "
                            "number from 0 to {}",
                            printable(text), kDscpMax));
  }
  return static_cast<std::uint8_t>(*value);
}

Result<std::uint8_t> dscp_of_tos(std::string_view text) {
  const auto value = parse_any_base(text);
  if (!value || *value > kTosMax) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("\"{}\" is no type of service; take a number from 0 to {}, such as 184 "
                            "or 0xb8, or a name with --dscp",
                            printable(text), kTosMax));
  }
  if ((*value & kEcnBits) != 0) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the two lowest bits of {} are ECN's, which the transport sets; take "
                            "{}",
                            printable(text), *value & ~kEcnBits));
  }
  return static_cast<std::uint8_t>(*value >> 2);
}

}  // namespace longhaul::apps::perf
