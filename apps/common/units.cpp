// SPDX-License-Identifier: Apache-2.0
#include "apps/common/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "longhaul/tensor.hpp"

#include "apps/common/printable.hpp"

namespace longhaul::apps {

namespace {

struct Split {
  double number = 0;
  std::string_view suffix;
};

/// Separates "1.5ms" into 1.5 and "ms"; nothing for text that does not start with a number.
std::optional<Split> split_number(std::string_view text,
                                  std::chars_format format = std::chars_format::fixed) {
  Split result;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, result.number, format);
  if (error != std::errc{} || !std::isfinite(result.number) || result.number < 0) return {};
  result.suffix = std::string_view(rest, static_cast<std::size_t>(end - rest));
  return result;
}

/// Power of the suffix: "" 0, K 1, M 2, G 3, T 4; nothing for another suffix.
std::optional<int> suffix_power(std::string_view suffix) noexcept {
  if (suffix.empty()) return 0;
  if (suffix.size() != 1) return {};
  switch (suffix.front()) {
    case 'k':
    case 'K':
      return 1;
    case 'm':
    case 'M':
      return 2;
    case 'g':
    case 'G':
      return 3;
    case 't':
    case 'T':
      return 4;
    default:
      return {};
  }
}

Result<std::uint64_t> parse_scaled(std::string_view text, double base, std::string_view what,
                                   std::string_view example) {
  const auto split = split_number(text);
  const auto power = split ? suffix_power(split->suffix) : std::nullopt;
  if (!power) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("\"{}\" is not a {}; write a number with K, M, G or T, such as {}",
                            printable(text), what, example));
  }
  const double value = split->number * std::pow(base, *power);
  // Doubles beyond 2^53 skip integers; 2^63 is far above any size a test can have.
  if (value >= 9.2e18) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} \"{}\" is too large", what, printable(text)));
  }
  return static_cast<std::uint64_t>(value);
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  return parse_scaled(text, 1024, "size", "64M");
}

bool has_size_suffix(std::string_view text) noexcept {
  return !text.empty() && suffix_power(text.substr(text.size() - 1)).value_or(0) != 0;
}

Result<std::uint64_t> parse_rate(std::string_view text) {
  return parse_scaled(text, 1000, "bit rate", "900M");
}

Result<Duration> parse_duration(std::string_view text, std::optional<Duration> plain_unit) {
  const auto split = split_number(text);
  if (text.starts_with('-') && split_number(text.substr(1))) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("\"{}\" is less than 0, and no time is; leave the minus out", printable(text)));
  }
  std::optional<Duration> unit;
  if (split) {
    if (split->suffix.empty()) unit = plain_unit;
    if (split->suffix == "s") unit = std::chrono::seconds(1);
    if (split->suffix == "ms") unit = std::chrono::milliseconds(1);
    if (split->suffix == "us") unit = std::chrono::microseconds(1);
  }
  if (!unit) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("\"{}\" is not a duration; write a number with its unit, such as "
                            "300us, 25ms or 1.5s",
                            printable(text)));
  }
  const double nanoseconds = split->number * static_cast<double>(unit->count());
  if (nanoseconds > 1e18) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("duration \"{}\" is too long", printable(text)));
  }
  return Duration(std::llround(nanoseconds));
}

Result<double> parse_probability(std::string_view text) {
  const auto split = split_number(text, std::chars_format::general);
  if (split && split->suffix == "%" && split->number <= 100) return split->number / 100;
  if (split && split->suffix.empty() && split->number == 1) {
    return fail(ErrorCode::invalid_argument, "\"1\" may mean 1 % or all; write 1% or 100%");
  }
  if (split && split->suffix.empty() && split->number < 1) return split->number;
  return fail(ErrorCode::invalid_argument,
              fmt::format("\"{}\" is not a probability; write 1% or 0.01", printable(text)));
}

Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t limit,
                                   std::uint64_t least) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || value < least || value > limit) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("\"{}\" is not a whole number from {} to {}", printable(text), least, limit));
  }
  return value;
}

Result<std::vector<std::uint64_t>> parse_extents(std::string_view text) {
  std::vector<std::uint64_t> extents;
  for (std::string_view rest = text;;) {
    const std::size_t cross = rest.find('x');
    const auto extent =
        parse_number(rest.substr(0, cross), std::numeric_limits<std::uint64_t>::max());
    if (!extent || extents.size() == kDimensionsMax) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("\"{}\" is not a shape; write up to {} extents, such as 4096x4096",
                              printable(text), kDimensionsMax));
    }
    extents.push_back(*extent);
    if (cross == std::string_view::npos) return extents;
    rest.remove_prefix(cross + 1);
  }
}

std::optional<std::uint64_t> checked_product(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return {};
  return product;
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"Bytes", "KBytes", "MBytes", "GBytes", "TBytes"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 999.5 and more would print as four digits.
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  const int decimals = unit == 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

std::string format_rate(double bits_per_second) {
  constexpr std::array<std::string_view, 5> kUnits{"bits/sec", "Kbits/sec", "Mbits/sec",
                                                   "Gbits/sec", "Tbits/sec"};
  std::size_t unit = 0;
  while (bits_per_second >= 999.5 && unit + 1 < kUnits.size()) {
    bits_per_second /= 1000;
    ++unit;
  }
  const int decimals = unit == 0                 ? 0
                       : bits_per_second < 9.995 ? 2
                       : bits_per_second < 99.95 ? 1
                                                 : 0;
  return fmt::format("{:.{}f} {}", bits_per_second, decimals, kUnits[unit]);
}

}  // namespace longhaul::apps
