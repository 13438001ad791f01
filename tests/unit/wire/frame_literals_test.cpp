// SPDX-License-Identifier: Apache-2.0
// The bytes of every frame, written down by hand from lib/wire/README.md. A change here is a change
// of the protocol.
#include <gtest/gtest.h>
#include <xxhash.h>

#include <set>

#include "tests/unit/wire/bytes.hpp"
#include "tests/unit/wire/frame_text.hpp"

namespace longhaul::wire {
namespace {

using test::hex;
using test::text_of;

constexpr Gap kGaps[] = {{5, 1}, {8, 70}};
const test::Bytes kRecords = hex("160301");
const test::Bytes kParameters = hex("0001 0004 00000578");
constexpr std::uint64_t kSchema = 0x1122334455667788;

struct Literal {
  FrameType type;
  Frame frame;
  std::string_view bytes;
};

std::vector<Literal> connection_literals() {
  return {
      {FrameType::ping, Ping{}, "01 0000"},
      {FrameType::ack,
       Ack{.space = 0x0102,
           .floor = 5,
           .largest = 5 + 16384,
           .largest_delay_us = 250,
           .packets = 37,
           .bytes = 15293,
           .ce = 0,
           .lateness_us = 494878333,
           .largest_is_newest = true,
           .gaps = kGaps},
       "02 0018 0102 05 80004000 40fa 25 7bbd 00 9d7f3e7d 02 | 00 01 | 02 4046 | 01"},
      {FrameType::floor, Floor{0x0304, 0x0102030405060708}, "03 000a 0304 0102030405060708"},
      {FrameType::connection_close, ConnectionClose{3, 16, "no"}, "04 0006 0003 10 02 6e6f"},
      {FrameType::path_challenge, PathChallenge{0x0123456789abcdef}, "05 0008 0123456789abcdef"},
      {FrameType::path_response, PathResponse{0xfedcba9876543210}, "06 0008 fedcba9876543210"},
      {FrameType::handshake, Handshake{16384, 256, kRecords}, "07 0009 80004000 4100 160301"},
      {FrameType::transport_parameters, TransportParametersFrame{kParameters},
       "08 0008 0001 0004 00000578"},
  };
}

std::vector<Literal> transfer_literals() {
  return {
      {FrameType::transfer,
       Transfer{.alias = 0x010203,
                .tag = 0xf1f2f3f4f5f6f7f8,
                .n = 1,
                .bytes = 1 << 27,
                .growing = false,
                .list = true,
                .eager = true,
                .traffic_class = TrafficClass::critical,
                .reliability = Reliability::bounded_loss,
                .loss_budget = 1000,
                .piece_log2 = 16,
                .schema = kSchema,
                .count = 3,
                .dtype = Dtype::bf16,
                .shape = Shape{4096, 8192}},
       "10 0025 010203 f1f2f3f4f5f6f7f8 01 88000000 06 01 01 43e8 10 1122334455667788 03 0a 02"
       " 5000 6000"},
      {FrameType::layout, Layout{0x010203, 4, 1400, 65536, 63},
       "11 000d 010203 04 00000578 80010000 3f"},
      {FrameType::posted, Posted{7, 2, 64, kSchema},
       "12 0013 0000000000000007 02 4040 1122334455667788"},
      {FrameType::send_end, SendEnd{7, 2, Status::cancelled, ""},
       "13 000b 0000000000000007 02 04 00"},
      {FrameType::receive_end, ReceiveEnd{7, 2, Status::completed, 1 << 30, "ok"},
       "14 0015 0000000000000007 02 01 c000000040000000 02 6f6b"},
      {FrameType::refetch, Refetch{7, 2, 65536, 65536},
       "15 0011 0000000000000007 02 80010000 80010000"},
      {FrameType::all_sent, AllSent{7, 2}, "16 0009 0000000000000007 02"},
  };
}

std::vector<Literal> literals() {
  std::vector<Literal> all = connection_literals();
  for (Literal& literal : transfer_literals()) all.push_back(std::move(literal));
  return all;
}

TEST(FrameLiterals, there_is_one_for_every_frame) {
  std::set<std::size_t> alternatives;
  for (const Literal& literal : literals()) alternatives.insert(literal.frame.index());
  EXPECT_EQ(alternatives.size(), std::variant_size_v<Frame>);
}

TEST(FrameLiterals, are_what_is_written) {
  for (const Literal& literal : literals()) {
    EXPECT_EQ(type_of(literal.frame), literal.type);
    test::Bytes out(200);
    out.resize(write_frame(literal.frame, out));
    EXPECT_EQ(out, hex(literal.bytes)) << text_of(literal.frame);
  }
}

TEST(FrameLiterals, are_what_is_read) {
  for (const Literal& literal : literals()) {
    const test::Bytes bytes = hex(literal.bytes);
    std::vector<Gap> gaps;
    FrameReader reader(bytes, gaps);
    const auto frame = reader.next();
    ASSERT_TRUE(frame) << literal.bytes;
    EXPECT_EQ(text_of(*frame), text_of(literal.frame));
    EXPECT_FALSE(reader.next());
    EXPECT_FALSE(reader.failed());
  }
}

TEST(FrameLiterals, exactly_the_transfer_frames_are_reliable) {
  for (const Literal& literal : connection_literals()) EXPECT_FALSE(is_reliable(literal.type));
  for (const Literal& literal : transfer_literals()) EXPECT_TRUE(is_reliable(literal.type));
  EXPECT_FALSE(is_reliable(FrameType::padding));
}

TEST(SchemaHash, is_xxh3_over_dtype_dimensions_and_extents_of_all_tensors) {
  const test::Bytes written =
      hex("0a 02 0000000000001000 0000000000002000"
          "0b 00"
          "01 01 ffffffffffffffff");
  SchemaHash hash;
  hash.add(Dtype::bf16, Shape{4096, 8192});
  hash.add(Dtype::f32, Shape{});
  hash.add(Dtype::u8, Shape{~0ULL});
  EXPECT_EQ(hash.value(), XXH3_64bits(written.data(), written.size()));
  EXPECT_EQ(SchemaHash{}.value(), 0x2d06800538d394c2u) << "XXH3-64, seed 0, of nothing";
}

TEST(SchemaHash, tells_lists_apart_that_have_the_same_bytes) {
  SchemaHash one;
  one.add(Dtype::f32, Shape{2, 3});
  SchemaHash transposed;
  transposed.add(Dtype::f32, Shape{3, 2});
  SchemaHash two;
  two.add(Dtype::f32, Shape{3});
  two.add(Dtype::f32, Shape{3});
  EXPECT_NE(one.value(), transposed.value());
  EXPECT_NE(one.value(), two.value());
}

}  // namespace
}  // namespace longhaul::wire
