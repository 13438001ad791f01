// SPDX-License-Identifier: Apache-2.0
// The bytes of every packet, written down by hand from lib/wire/README.md; the checksums come from
// another implementation. A change here is a change of the protocol.
#include <gtest/gtest.h>

#include "lib/wire/packet.hpp"
#include "tests/unit/wire/bytes.hpp"

namespace longhaul::wire {
namespace {

using test::Bytes;
using test::hex;

struct ShortLiteral {
  ShortHeader header;
  std::string_view bytes;
};

const ShortLiteral kShort[] = {
    {{.type = PacketType::source,
      .key_phase = 0,
      .reserved = 0,
      .connection_id = 0x01020304,
      .space = 0x0506,
      .packet_number = 0x0708090a,
      .alias = 0x0b0c0d,
      .layout = 0x0e,
      .chunk = 0x0f1011},
     "00 01020304 0506 0708090a 0b0c0d 0e 0f1011"},
    {{.type = PacketType::repair,
      .key_phase = 2,
      .reserved = 1,
      .connection_id = 0x01020304,
      .space = 0x0506,
      .packet_number = 0x0708090a,
      .alias = 0x0b0c0d,
      .layout = 0x0e,
      .chunk = 0x0f1011,
      .stride = 0x1213,
      .k = 0x14,
      .m = 0x15,
      .symbol = 0x16},
     "19 01020304 0506 0708090a 0b0c0d 0e 0f1011 1213 14 15 16"},
    {{.type = PacketType::control,
      .key_phase = 1,
      .reserved = 3,
      .connection_id = 0xffffffff,
      .space = 0xffff,
      .packet_number = 0xfffffffe},
     "27 ffffffff ffff fffffffe"},
    {{.type = PacketType::digest,
      .key_phase = 3,
      .reserved = 2,
      .connection_id = 0x01020304,
      .space = 0x0506,
      .packet_number = 0x0708090a,
      .alias = 0xffffff,
      .layout = 0,
      .chunk = 0xfffffe},
     "3e 01020304 0506 0708090a ffffff 00 fffffe"},
};

void expect_equal(const ShortHeader& a, const ShortHeader& b) {
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.key_phase, b.key_phase);
  EXPECT_EQ(a.reserved, b.reserved);
  EXPECT_EQ(a.connection_id, b.connection_id);
  EXPECT_EQ(a.space, b.space);
  EXPECT_EQ(a.packet_number, b.packet_number);
  EXPECT_EQ(a.alias, b.alias);
  EXPECT_EQ(a.layout, b.layout);
  EXPECT_EQ(a.chunk, b.chunk);
  EXPECT_EQ(a.stride, b.stride);
  EXPECT_EQ(a.k, b.k);
  EXPECT_EQ(a.m, b.m);
  EXPECT_EQ(a.symbol, b.symbol);
}

TEST(PacketLiterals, short_headers_are_written_and_read_like_this) {
  for (const ShortLiteral& literal : kShort) {
    Bytes out(64);
    out.resize(write_short_header(literal.header, out));
    EXPECT_EQ(out, hex(literal.bytes));
    EXPECT_EQ(out.size(), header_bytes(literal.header.type));
    const auto read = read_short_header(hex(literal.bytes));
    ASSERT_TRUE(read);
    expect_equal(*read, literal.header);
  }
}

TEST(PacketLiterals, data_packets_cost_22_and_27_bytes_beyond_udp) {
  EXPECT_EQ(header_bytes(PacketType::source) + kCrcBytes, 22u);
  EXPECT_EQ(header_bytes(PacketType::source) + kAeadTagBytes, 34u);
  EXPECT_EQ(header_bytes(PacketType::repair) + kCrcBytes, 27u);
  EXPECT_EQ(header_bytes(PacketType::repair) + kAeadTagBytes, 39u);
}

TEST(PacketLiterals, a_reset_ends_with_its_token) {
  Bytes out(40, std::byte{0x5a});
  ResetToken token;
  token.fill(std::byte{0xee});
  EXPECT_EQ(write_reset(0x01020304, token, out), 40u);
  const Bytes expected =
      hex("70 01020304 5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"
          "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee");
  EXPECT_EQ(out, expected);
  const auto reset = read_reset(expected);
  ASSERT_TRUE(reset);
  EXPECT_EQ(reset->connection_id, 0x01020304u);
  EXPECT_EQ(reset->token, token);
  EXPECT_FALSE(read_short_header(expected)) << "it is no packet of a connection";
}

struct LongLiteral {
  LongHeader header;
  Bytes frames;
  std::string_view bytes;
};

const Bytes kToken = hex("aabbcc");
const Bytes kRetryToken = hex("deadbeef");

std::vector<LongLiteral> long_literals() {
  return {
      {{.type = LongType::initial,
        .reserved = 0xa,
        .destination_id = 0,
        .source_id = 0x0a0b0c0d,
        .attempt = 0x0102030405060708,
        .number = 1,
        .token = kToken},
       hex("01 0000 00 00"),
       "9a 4c480002 00000000 0a0b0c0d 0102030405060708 00000001 0003 aabbcc | 2ec824c0 |"
       "01 0000 00 00"},
      {{.type = LongType::retry,
        .reserved = 0,
        .destination_id = 0x0a0b0c0d,
        .source_id = 0,
        .attempt = 0x0102030405060708,
        .number = 0,
        .token = kRetryToken},
       {},
       "a0 4c480002 0a0b0c0d 00000000 0102030405060708 00000000 0004 deadbeef | e826e2a8"},
      {{.type = LongType::accept,
        .reserved = 5,
        .destination_id = 0x0a0b0c0d,
        .source_id = 0x11121314,
        .attempt = 0x0102030405060708,
        .number = 2},
       hex("06 0008 fedcba9876543210"),
       "b5 4c480002 0a0b0c0d 11121314 0102030405060708 00000002 0000 | fd855700 |"
       "06 0008 fedcba9876543210"},
  };
}

TEST(PacketLiterals, long_packets_are_written_and_read_like_this) {
  for (const LongLiteral& literal : long_literals()) {
    Bytes out(128);
    out.resize(write_long_packet(literal.header, literal.frames, out));
    EXPECT_EQ(out, hex(literal.bytes));
    LongError error{};
    const Bytes bytes = hex(literal.bytes);
    const auto packet = read_long_packet(bytes, error);
    ASSERT_TRUE(packet) << literal.bytes;
    EXPECT_EQ(packet->header.type, literal.header.type);
    EXPECT_EQ(packet->header.reserved, literal.header.reserved);
    EXPECT_EQ(packet->header.version, kVersion);
    EXPECT_EQ(packet->header.destination_id, literal.header.destination_id);
    EXPECT_EQ(packet->header.source_id, literal.header.source_id);
    EXPECT_EQ(packet->header.attempt, literal.header.attempt);
    EXPECT_EQ(packet->header.number, literal.header.number);
    EXPECT_TRUE(std::ranges::equal(packet->header.token, literal.header.token));
    EXPECT_TRUE(std::ranges::equal(packet->frames, literal.frames));
  }
}

TEST(PacketLiterals, version_negotiation_is_written_and_read_like_this) {
  const std::vector<std::uint32_t> versions{0x4c480001, 0x4c480002};
  const Bytes bytes = hex("80 00000000 0a0b0c0d 00000000 0102030405060708 02 4c480001 4c480002");
  Bytes out(64);
  out.resize(write_version_negotiation(0x0a0b0c0d, 0x0102030405060708, versions, out));
  EXPECT_EQ(out, bytes);
  EXPECT_EQ(read_version_negotiation(bytes), versions);
  const auto peek = peek_long(bytes);
  ASSERT_TRUE(peek);
  EXPECT_EQ(peek->type, LongType::version_negotiation);
  EXPECT_EQ(peek->version, 0u);
  EXPECT_EQ(peek->destination_id, 0x0a0b0c0du);
  EXPECT_EQ(peek->attempt, 0x0102030405060708u);
}

}  // namespace
}  // namespace longhaul::wire
