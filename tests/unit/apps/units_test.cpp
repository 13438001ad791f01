// SPDX-License-Identifier: Apache-2.0
#include "apps/common/units.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace longhaul::apps {
namespace {

using namespace std::chrono_literals;

TEST(Units, SizesArePowersOf1024) {
  EXPECT_EQ(parse_size("0").value(), 0u);
  EXPECT_EQ(parse_size("123").value(), 123u);
  EXPECT_EQ(parse_size("64M").value(), 64u << 20);
  EXPECT_EQ(parse_size("1.5k").value(), 1536u);
  EXPECT_EQ(parse_size("2T").value(), std::uint64_t{2} << 40);
}

TEST(Units, RatesArePowersOf1000) {
  EXPECT_EQ(parse_rate("900M").value(), 900'000'000u);
  EXPECT_EQ(parse_rate("2.5G").value(), 2'500'000'000u);
}

TEST(Units, NonsenseSizesAreRefusedWithAnExample) {
  for (const char* text : {"", "M", "-1", "1X", "1MM", "1 M", "nan", "inf", "9999999T", "0x10"}) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().code, ErrorCode::invalid_argument);
    EXPECT_FALSE(size.error().context.empty());
  }
  EXPECT_NE(parse_size("lots").error().context.find("such as 64M"), std::string::npos);
}

TEST(Units, ASuffixTellsBytesFromACount) {
  EXPECT_TRUE(has_size_suffix("1G"));
  EXPECT_FALSE(has_size_suffix("100"));
  EXPECT_FALSE(has_size_suffix(""));
}

TEST(Units, DurationsTakeUnits) {
  EXPECT_EQ(parse_duration("25ms", std::nullopt).value(), 25ms);
  EXPECT_EQ(parse_duration("300us", std::nullopt).value(), 300us);
  EXPECT_EQ(parse_duration("1.5s", std::nullopt).value(), 1500ms);
  EXPECT_EQ(parse_duration("10", 1s).value(), 10s);
  EXPECT_EQ(parse_duration("0.25", 1s).value(), 250ms);
}

TEST(Units, APlainNumberWithoutADefaultUnitIsRefused) {
  EXPECT_FALSE(parse_duration("25", std::nullopt));
  EXPECT_FALSE(parse_duration("25 ms", std::nullopt));
  EXPECT_FALSE(parse_duration("25m", 1s));
  EXPECT_FALSE(parse_duration("99999999999999", 1s));
}

TEST(Units, ProbabilitiesArePercentOrShare) {
  EXPECT_DOUBLE_EQ(parse_probability("1%").value(), 0.01);
  EXPECT_DOUBLE_EQ(parse_probability("0.01").value(), 0.01);
  EXPECT_DOUBLE_EQ(parse_probability("1e-2").value(), 0.01);
  EXPECT_DOUBLE_EQ(parse_probability("2.5e-4").value(), 0.00025);
  EXPECT_DOUBLE_EQ(parse_probability("100%").value(), 1);
  for (const char* text : {"2", "101%", "-1%", "one", "1e", "1e2"})
    EXPECT_FALSE(parse_probability(text)) << text;
}

TEST(Units, NumbersAreWholeAndLimited) {
  EXPECT_EQ(parse_number("65535", 65535).value(), 65535u);
  for (const char* text : {"65536", "-1", "1.0", "", "7x"}) {
    EXPECT_FALSE(parse_number(text, 65535)) << text;
  }
}

TEST(Units, ShapesAreExtentsJoinedByX) {
  EXPECT_EQ(parse_extents("4096x4096").value(), (std::vector<std::uint64_t>{4096, 4096}));
  EXPECT_EQ(parse_extents("7").value(), std::vector<std::uint64_t>{7});
  EXPECT_EQ(parse_extents("1x2x3x4x5x6x7x8").value().size(), 8u);
  for (const char* text : {"", "x", "4x", "x4", "4xx4", "4X4", "1x2x3x4x5x6x7x8x9"}) {
    EXPECT_FALSE(parse_extents(text)) << text;
  }
}

TEST(Units, ProductsThatDoNotFitAreNoticed) {
  EXPECT_EQ(checked_product(1u << 31, 1u << 31).value(), std::uint64_t{1} << 62);
  EXPECT_FALSE(checked_product(std::uint64_t{1} << 32, std::uint64_t{1} << 32));
  EXPECT_EQ(checked_product(std::numeric_limits<std::uint64_t>::max(), 1).value(),
            std::numeric_limits<std::uint64_t>::max());
}

TEST(Units, BytesAndRatesReadLikeIperf3) {
  EXPECT_EQ(format_bytes(0), "0 Bytes");
  EXPECT_EQ(format_bytes(1536), "1.50 KBytes");
  EXPECT_EQ(format_bytes(64u << 20), "64.0 MBytes");
  EXPECT_EQ(format_bytes(1000u << 20), "0.98 GBytes");
  EXPECT_EQ(format_rate(943e6), "943 Mbits/sec");
  EXPECT_EQ(format_rate(1.25e9), "1.25 Gbits/sec");
  EXPECT_EQ(format_rate(999.9e6), "1.00 Gbits/sec");
}

}  // namespace
}  // namespace longhaul::apps
