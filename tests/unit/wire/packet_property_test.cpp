// SPDX-License-Identifier: Apache-2.0
// Headers random, cut and damaged. All memory ends at a guard page.
#include <gtest/gtest.h>

#include "lib/wire/packet.hpp"
#include "tests/unit/wire/bytes.hpp"

namespace longhaul::wire {
namespace {

using test::Bytes;
using test::GuardedMemory;

ShortHeader random_header(base::Random& random) {
  constexpr PacketType kTypes[] = {PacketType::source, PacketType::repair, PacketType::control,
                                   PacketType::digest};
  ShortHeader header;
  header.type = kTypes[random.below(4)];
  header.key_phase = static_cast<std::uint8_t>(random.below(4));
  header.reserved = static_cast<std::uint8_t>(random.below(4));
  header.connection_id = static_cast<std::uint32_t>(random.next());
  header.space = static_cast<std::uint16_t>(random.next());
  header.packet_number = static_cast<std::uint32_t>(random.next());
  if (header.type == PacketType::control) return header;
  header.alias = static_cast<std::uint32_t>(random.below(kAliasMax + 1));
  header.layout = static_cast<std::uint8_t>(random.next());
  header.chunk = static_cast<std::uint32_t>(random.below(kChunkIndexMax + 1));
  if (header.type != PacketType::repair) return header;
  header.stride = static_cast<std::uint16_t>(random.next());
  header.k = static_cast<std::uint8_t>(random.next());
  header.m = static_cast<std::uint8_t>(random.next());
  header.symbol = static_cast<std::uint8_t>(random.next());
  return header;
}

TEST(ShortHeader, any_fields_survive_any_cut_is_refused) {
  base::Random random(41);
  GuardedMemory memory(64);
  for (int i = 0; i < 20000; ++i) {
    const ShortHeader header = random_header(random);
    Bytes bytes(header_bytes(header.type));
    ASSERT_EQ(write_short_header(header, bytes), bytes.size());
    const auto read = read_short_header(memory.copy(bytes));
    ASSERT_TRUE(read);
    Bytes again(bytes.size());
    ASSERT_EQ(write_short_header(*read, memory.copy(again)), bytes.size());
    write_short_header(*read, again);
    ASSERT_EQ(again, bytes) << "every bit of a header is in one of its fields";
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ASSERT_FALSE(read_short_header(memory.copy(std::span(bytes).first(size))));
      ASSERT_EQ(write_short_header(header, memory.copy(Bytes(size))), 0u);
    }
  }
}

TEST(ShortHeader, refuses_long_forms_and_unknown_types) {
  for (unsigned first = 0; first < 256; ++first) {
    Bytes bytes(64);
    bytes[0] = static_cast<std::byte>(first);
    EXPECT_EQ(is_long(bytes[0]), first >= 0x80);
    EXPECT_EQ(read_short_header(bytes).has_value(), first < 0x40) << first;
    EXPECT_EQ(read_reset(bytes).has_value(), first >= 0x70 && first < 0x80) << first;
    EXPECT_EQ(peek_long(bytes).has_value(), first >= 0x80) << first;
  }
}

TEST(ShortHeader, refuses_to_write_what_24_bits_cannot_carry) {
  Bytes out(64);
  ShortHeader header;
  header.type = PacketType::source;
  header.alias = kAliasMax + 1;
  EXPECT_EQ(write_short_header(header, out), 0u);
  header.alias = 0;
  header.chunk = kChunkIndexMax + 1;
  EXPECT_EQ(write_short_header(header, out), 0u);
  header.type = PacketType::reset;
  EXPECT_EQ(write_short_header(header, out), 0u);
}

TEST(Reset, needs_its_size) {
  Bytes bytes(kResetDatagramMin);
  EXPECT_EQ(write_reset(1, {}, std::span<std::byte>(bytes).first(kResetDatagramMin - 1)), 0u);
  EXPECT_EQ(write_reset(1, {}, bytes), kResetDatagramMin);
  GuardedMemory memory(64);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(read_reset(memory.copy(std::span(bytes).first(size))));
  }
  EXPECT_TRUE(read_reset(bytes));
}

LongHeader random_long(base::Random& random, const Bytes& token) {
  constexpr LongType kTypes[] = {LongType::initial, LongType::retry, LongType::accept};
  LongHeader header;
  header.type = kTypes[random.below(3)];
  header.reserved = static_cast<std::uint8_t>(random.below(16));
  header.destination_id = static_cast<std::uint32_t>(random.next());
  header.source_id = static_cast<std::uint32_t>(random.next());
  header.attempt = random.next();
  header.number = static_cast<std::uint32_t>(random.next());
  header.token = token;
  return header;
}

TEST(LongPacket, any_fields_survive) {
  base::Random random(42);
  GuardedMemory memory(4096);
  for (int i = 0; i < 3000; ++i) {
    const Bytes token = test::random_bytes(random, random.below(kTokenBytesMax + 1));
    const Bytes frames = test::random_bytes(random, random.below(1500));
    const LongHeader header = random_long(random, token);
    const std::size_t size = kLongHeaderBytes + token.size() + kCrcBytes + frames.size();
    const auto out = memory.copy(Bytes(size));
    ASSERT_EQ(write_long_packet(header, frames, out), size);
    LongError error{};
    const auto packet = read_long_packet(out, error);
    ASSERT_TRUE(packet);
    ASSERT_EQ(packet->header.type, header.type);
    ASSERT_EQ(packet->header.destination_id, header.destination_id);
    ASSERT_EQ(packet->header.source_id, header.source_id);
    ASSERT_EQ(packet->header.attempt, header.attempt);
    ASSERT_EQ(packet->header.number, header.number);
    ASSERT_TRUE(std::ranges::equal(packet->header.token, token));
    ASSERT_TRUE(std::ranges::equal(packet->frames, frames));
    const auto less = memory.copy(Bytes(size - 1));
    ASSERT_EQ(write_long_packet(header, frames, less), 0u);
  }
}

TEST(LongPacket, every_prefix_and_every_flipped_bit_is_detected) {
  base::Random random(43);
  GuardedMemory memory(4096);
  for (int i = 0; i < 40; ++i) {
    const Bytes token = test::random_bytes(random, random.below(40));
    const Bytes frames = test::random_bytes(random, random.below(300));
    Bytes bytes(kLongHeaderBytes + token.size() + kCrcBytes + frames.size());
    write_long_packet(random_long(random, token), frames, bytes);
    LongError error{};
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ASSERT_FALSE(read_long_packet(memory.copy(std::span(bytes).first(size)), error)) << size;
    }
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      const auto damaged = memory.copy(bytes);
      damaged[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      ASSERT_FALSE(read_long_packet(damaged, error)) << "bit " << bit;
      const bool in_version = bit >= 8 && bit < 40;
      ASSERT_EQ(error == LongError::unknown_version, in_version) << bit;
    }
    ASSERT_TRUE(read_long_packet(memory.copy(bytes), error));
  }
}

TEST(LongPacket, says_why_it_was_refused) {
  Bytes bytes(200);
  LongHeader header;
  bytes.resize(write_long_packet(header, {}, bytes));
  LongError error{};
  bytes.back() ^= std::byte{1};
  EXPECT_FALSE(read_long_packet(bytes, error));
  EXPECT_EQ(error, LongError::integrity);
  bytes[4] ^= std::byte{2};
  EXPECT_FALSE(read_long_packet(bytes, error));
  EXPECT_EQ(error, LongError::unknown_version);
  EXPECT_EQ(peek_long(bytes)->version, kVersion ^ 2) << "readable all the same";
  EXPECT_FALSE(read_long_packet(std::span(bytes).first(10), error));
  EXPECT_EQ(error, LongError::malformed);
}

TEST(LongPacket, refuses_a_token_beyond_its_limit) {
  const Bytes token(kTokenBytesMax + 1);
  LongHeader header;
  header.token = token;
  Bytes out(400);
  EXPECT_EQ(write_long_packet(header, {}, out), 0u);
  header.token = std::span(token).first(kTokenBytesMax);
  EXPECT_GT(write_long_packet(header, {}, out), 0u);
  header.type = LongType::version_negotiation;
  EXPECT_EQ(write_long_packet(header, {}, out), 0u) << "has a writer of its own";
}

TEST(VersionNegotiation, keeps_sixteen_and_believes_no_count) {
  base::Random random(44);
  GuardedMemory memory(4096);
  for (std::size_t count = 0; count < 256; ++count) {
    std::vector<std::uint32_t> versions(count);
    for (auto& version : versions) version = static_cast<std::uint32_t>(random.next());
    Bytes bytes(kLongPeekBytes + 1 + 4 * count);
    ASSERT_EQ(write_version_negotiation(1, 2, versions, bytes), bytes.size());
    const auto read = read_version_negotiation(memory.copy(bytes));
    ASSERT_TRUE(read);
    versions.resize(std::min(count, kVersionsMax));
    ASSERT_EQ(*read, versions);
    const std::size_t cut = random.below(bytes.size());
    ASSERT_FALSE(read_version_negotiation(memory.copy(std::span(bytes).first(cut))));
    bytes[1] = std::byte{1};
    ASSERT_FALSE(read_version_negotiation(bytes)) << "version must be 0";
  }
  Bytes out(2000);
  EXPECT_EQ(write_version_negotiation(1, 2, std::vector<std::uint32_t>(256), out), 0u);
}

TEST(PacketNumber, expands_as_in_rfc_9000_appendix_a_3) {
  EXPECT_EQ(expand_packet_number(0xa82f30ea, 0x9b32, 16), 0xa82f9b32u);
  static_assert(expand_packet_number(0xa82f30ea, 0x9b32, 16) == 0xa82f9b32);
}

TEST(PacketNumber, expands_across_the_ends_of_32_bits) {
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  EXPECT_EQ(expand_packet_number(kNone, 0), 0u);
  EXPECT_EQ(expand_packet_number(kNone, 0xffffffff), 0xffffffffu) << "nothing lies below 0";
  EXPECT_EQ(expand_packet_number(0xffffffff, 0), 0x100000000u);
  EXPECT_EQ(expand_packet_number(0xfffffff0, 5), 0x100000005u);
  EXPECT_EQ(expand_packet_number(0x100000005, 0xfffffff0), 0xfffffff0u);
  EXPECT_EQ(expand_packet_number(kPacketNumberMax - 1, 0xffffffff), kPacketNumberMax);
  EXPECT_EQ(expand_packet_number(kPacketNumberMax, 0), kPacketNumberMax - 0xffffffff)
      << "nothing lies above 2^62 - 1";
}

TEST(PacketNumber, takes_the_higher_one_of_two_that_are_equally_near) {
  constexpr std::uint64_t kExpected = std::uint64_t{5} << 32 | 7;
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 31;
  EXPECT_EQ(expand_packet_number(kExpected - 1, static_cast<std::uint32_t>(kExpected + kHalf)),
            kExpected + kHalf);
  constexpr std::uint64_t kHigh = kExpected + kHalf;  // whose tie lies across a multiple of 2^32
  EXPECT_EQ(expand_packet_number(kHigh - 1, static_cast<std::uint32_t>(kHigh + kHalf)),
            kHigh + kHalf);
}

TEST(PacketNumber, is_the_nearest_one_to_the_next_expected) {
  base::Random random(45);
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 31;
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t expected = (random.next() >> 2) >> random.below(62);
    // Any number in (expected - half, expected + half] that exists is the one meant.
    const std::uint64_t offset = random.below(2 * kHalf);
    const std::uint64_t number = expected + offset + 1 - kHalf;
    if (number > kPacketNumberMax) continue;  // below 0, too
    ASSERT_EQ(expand_packet_number(expected - 1, static_cast<std::uint32_t>(number)), number)
        << expected;
  }
}

}  // namespace
}  // namespace longhaul::wire
