// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "lib/wire/packet.hpp"
#include "tests/unit/wire/bytes.hpp"

namespace longhaul::wire {
namespace {

using test::Bytes;

// Bit by bit, from the definition: polynomial 0x1edc6f41 reflected.
std::uint32_t crc32c_by_definition(std::span<const std::byte> bytes) {
  std::uint32_t state = 0xffffffff;
  for (const std::byte byte : bytes) {
    state ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) != 0 ? 0x82f63b78u : 0);
  }
  return ~state;
}

TEST(Crc32c, gives_the_published_check_values) {
  const std::string_view digits = "123456789";
  EXPECT_EQ(crc32c(std::as_bytes(std::span(digits))), 0xe3069283u);
  // RFC 3720, appendix B.4.
  EXPECT_EQ(crc32c(Bytes(32, std::byte{0x00})), 0x8a9136aau);
  EXPECT_EQ(crc32c(Bytes(32, std::byte{0xff})), 0x62a8ab43u);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Crc32c, agrees_with_the_definition_however_the_bytes_are_split) {
  base::Random random(7);
  test::GuardedMemory memory(10000);
  for (int i = 0; i < 300; ++i) {
    const Bytes bytes = test::random_bytes(random, random.below(i % 10 == 0 ? 9000 : 200));
    const std::uint32_t expected = crc32c_by_definition(bytes);
    const auto all = memory.copy(bytes);
    const std::size_t at = random.below(all.size() + 1);
    ASSERT_EQ(crc32c(all), expected);
    ASSERT_EQ(crc32c(all.first(at), all.subspan(at)), expected);
    ASSERT_EQ(crc32c_continue(crc32c(all.first(at)), all.subspan(at)), expected);
  }
}

}  // namespace
}  // namespace longhaul::wire
