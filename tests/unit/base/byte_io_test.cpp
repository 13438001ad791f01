// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

#include "lib/base/byte_reader.hpp"
#include "lib/base/byte_writer.hpp"
#include "lib/base/random.hpp"

namespace longhaul::base {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(ByteWriter, writes_integers_big_endian) {
  std::array<std::byte, 22> out{};
  ByteWriter writer(out);
  writer.u8(0x01);
  writer.u16(0x0203);
  writer.u24(0x040506);
  writer.u32(0x0708090a);
  writer.u64(0x0b0c0d0e0f101112);
  writer.bytes(bytes_of({0x13, 0x14}));
  writer.fill(2, std::byte{0x15});
  EXPECT_FALSE(writer.failed());
  EXPECT_EQ(writer.written(), 22u);
  EXPECT_EQ(writer.remaining(), 0u);
  EXPECT_EQ(
      std::vector(out.begin(), out.end()),
      bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 21}));
}

TEST(ByteReader, reads_back_what_the_writer_wrote) {
  const auto bytes =
      bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21});
  ByteReader reader(bytes);
  EXPECT_EQ(reader.u8(), 0x01);
  EXPECT_EQ(reader.u16(), 0x0203);
  EXPECT_EQ(reader.u24(), 0x040506u);
  EXPECT_EQ(reader.u32(), 0x0708090au);
  EXPECT_EQ(reader.u64(), 0x0b0c0d0e0f101112u);
  EXPECT_EQ(reader.remaining(), 3u);
  EXPECT_EQ(reader.bytes(1).data(), bytes.data() + 18);
  EXPECT_EQ(reader.rest().size(), 2u);
  EXPECT_EQ(reader.remaining(), 0u);
  EXPECT_FALSE(reader.failed());
}

TEST(ByteReader, stays_failed_after_running_over_the_end) {
  const auto bytes = bytes_of({0xff, 0xff, 0xff});
  ByteReader reader(bytes);
  EXPECT_EQ(reader.u32(), 0u);
  EXPECT_TRUE(reader.failed());
  EXPECT_EQ(reader.u8(), 0) << "what is left after a failure must not be taken for the next field";
  EXPECT_TRUE(reader.rest().empty());
  EXPECT_TRUE(reader.bytes(0).empty());
  EXPECT_TRUE(reader.failed());
}

TEST(ByteReader, refuses_a_span_longer_than_what_is_left) {
  const auto bytes = bytes_of({1, 2, 3});
  for (const std::size_t count : {std::size_t{4}, std::numeric_limits<std::size_t>::max()}) {
    ByteReader reader(bytes);
    EXPECT_TRUE(reader.bytes(count).empty());
    EXPECT_TRUE(reader.failed());
  }
}

TEST(ByteWriter, writes_nothing_more_after_it_failed) {
  std::array<std::byte, 3> out{};
  ByteWriter writer(out);
  writer.u8(7);
  writer.u32(0xffffffff);
  EXPECT_TRUE(writer.failed());
  writer.u8(9);
  writer.fill(1, std::byte{9});
  writer.bytes(bytes_of({9}));
  EXPECT_TRUE(writer.failed());
  EXPECT_EQ(writer.written(), 1u);
  EXPECT_EQ(std::vector(out.begin(), out.end()), bytes_of({7, 0, 0}));
}

TEST(ByteWriter, fails_on_numbers_the_field_cannot_carry) {
  std::array<std::byte, 16> out{};
  ByteWriter alias(out);
  alias.u24(0x1000000);
  EXPECT_TRUE(alias.failed());
  ByteWriter number(out);
  number.varint(kVarintMax + 1);
  EXPECT_TRUE(number.failed());
  EXPECT_EQ(number.written(), 0u);
}

struct VarintExample {
  std::uint64_t value;
  std::vector<std::byte> bytes;
};

TEST(Varint, agrees_with_the_examples_of_rfc_9000_appendix_a_1) {
  const VarintExample examples[] = {
      {151288809941952652, bytes_of({0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c})},
      {494878333, bytes_of({0x9d, 0x7f, 0x3e, 0x7d})},
      {15293, bytes_of({0x7b, 0xbd})},
      {37, bytes_of({0x25})},
  };
  for (const VarintExample& example : examples) {
    EXPECT_EQ(ByteReader(example.bytes).varint(), example.value);
    std::vector<std::byte> out(ByteWriter::varint_size(example.value));
    ByteWriter writer(out);
    writer.varint(example.value);
    EXPECT_EQ(out, example.bytes);
  }
  EXPECT_EQ(ByteReader(bytes_of({0x40, 0x25})).varint(), 37u) << "longer than necessary";
}

TEST(Varint, takes_the_shortest_of_four_sizes) {
  constexpr std::pair<std::uint64_t, std::size_t> kSizes[] = {
      {0, 1},          {63, 1},         {64, 2},         {16383, 2},          {16384, 4},
      {1073741823, 4}, {1073741824, 8}, {kVarintMax, 8}, {kVarintMax + 1, 0}, {~0ULL, 0},
  };
  for (const auto& [value, size] : kSizes) EXPECT_EQ(ByteWriter::varint_size(value), size) << value;
}

TEST(Varint, any_value_survives_and_any_prefix_fails) {
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t value = random.next() >> (2 + random.below(62));
    std::array<std::byte, 8> out{};
    ByteWriter writer(out);
    writer.varint(value);
    ASSERT_EQ(writer.written(), ByteWriter::varint_size(value));
    ByteReader reader(std::span<std::byte>(out).first(writer.written()));
    ASSERT_EQ(reader.varint(), value);
    ASSERT_FALSE(reader.failed());
    for (std::size_t size = 0; size < writer.written(); ++size) {
      ByteReader cut(std::span<std::byte>(out).first(size));
      ASSERT_EQ(cut.varint(), 0u);
      ASSERT_TRUE(cut.failed());
    }
  }
}

}  // namespace
}  // namespace longhaul::base
