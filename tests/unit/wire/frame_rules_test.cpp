// SPDX-License-Identifier: Apache-2.0
// What lib/wire/README.md says about frames beyond their layout, rule by rule.
#include <gtest/gtest.h>

#include <string>

#include "lib/base/byte_writer.hpp"
#include "tests/unit/wire/bytes.hpp"
#include "tests/unit/wire/frame_text.hpp"

namespace longhaul::wire {
namespace {

using test::Bytes;
using test::hex;
using test::text_of;

/// Text of every frame read, then "end" or "malformed".
std::vector<std::string> read_all(const Bytes& bytes) {
  std::vector<Gap> gaps;
  FrameReader reader(bytes, gaps);
  std::vector<std::string> texts;
  while (const auto frame = reader.next()) texts.push_back(text_of(*frame));
  texts.emplace_back(reader.failed() ? "malformed" : "end");
  EXPECT_FALSE(reader.next()) << "nothing comes after the end";
  EXPECT_EQ(texts.back(), reader.failed() ? "malformed" : "end");
  return texts;
}

using Texts = std::vector<std::string>;
const Texts kMalformed{"malformed"};

Bytes frame_of(FrameType type, const Bytes& body) {
  Bytes bytes(kFrameHeaderBytes + body.size());
  base::ByteWriter writer(bytes);
  writer.u8(static_cast<std::uint8_t>(type));
  writer.u16(static_cast<std::uint16_t>(body.size()));
  writer.bytes(body);
  return bytes;
}
Texts read_body(FrameType type, std::string_view body) {
  return read_all(frame_of(type, hex(body)));
}

std::size_t size_of(const Frame& frame) {
  Bytes out(70000);
  return write_frame(frame, out);
}

TEST(FrameReader, an_empty_packet_has_no_frames) {
  EXPECT_EQ(read_all({}), Texts{"end"});
}

TEST(FrameReader, padding_ends_the_packet) {
  EXPECT_EQ(read_all(hex("01 0000 00")), (Texts{"ping", "end"}));
  EXPECT_EQ(read_all(hex("01 0000 00 00 00 ff 01 0000")), (Texts{"ping", "end"}));
  EXPECT_EQ(read_all(hex("00 01 0000")), Texts{"end"});
}

TEST(FrameReader, skips_unknown_frames_with_the_top_bit_and_stops_at_others) {
  EXPECT_EQ(read_all(hex("80 0000 ff 0003 010203 01 0000")), (Texts{"ping", "end"}));
  EXPECT_EQ(read_all(hex("01 0000 09 0000 01 0000")), (Texts{"ping", "malformed"}));
  EXPECT_EQ(read_all(hex("7f 0000")), kMalformed);
}

TEST(FrameReader, stops_where_a_frame_is_cut_off) {
  EXPECT_EQ(read_all(hex("01")), kMalformed);
  EXPECT_EQ(read_all(hex("01 00")), kMalformed);
  EXPECT_EQ(read_all(hex("01 0001")), kMalformed);
  EXPECT_EQ(read_all(hex("80 0001")), kMalformed) << "also where it would have been skipped";
  EXPECT_EQ(read_all(hex("01 0000 05 0008 00000000000000")), (Texts{"ping", "malformed"}));
}

TEST(FrameReader, ignores_what_follows_a_body_it_knows) {
  EXPECT_EQ(read_all(hex("01 0002 abcd 01 0000")), (Texts{"ping", "ping", "end"}));
  EXPECT_EQ(read_body(FrameType::floor, "0001 0000000000000007 ff"), (Texts{"floor 1 7", "end"}));
  EXPECT_EQ(read_body(FrameType::all_sent, "0000000000000007 02 ffff"),
            (Texts{"all_sent 7 2", "end"}));
}

// An ACK without counters over [floor, floor + span]: what follows is gap count, gaps and flags.
Texts read_ack(std::string_view floor, std::string_view span, std::string_view gaps) {
  return read_body(FrameType::ack, "0001" + std::string(floor) + std::string(span) +
                                       "00 00 00 00 00" + std::string(gaps));
}

TEST(Ack, covers_from_the_floor_to_the_floor_plus_the_span) {
  EXPECT_EQ(read_ack("05", "00", "00 00"), (Texts{"ack 1 5 5 0 0 0 0 0 0", "end"}));
  EXPECT_EQ(read_ack("05", "0a", "00 fe"), (Texts{"ack 1 5 15 0 0 0 0 0 0", "end"}))
      << "reserved flags are ignored";
  EXPECT_EQ(read_ack("c000000000000000", "ffffffffffffffff", "00 01"),
            (Texts{"ack 1 0 4611686018427387903 0 0 0 0 0 1", "end"}));
  EXPECT_EQ(read_ack("01", "ffffffffffffffff", "00 00"), kMalformed) << "beyond 2^62 - 1";
}

TEST(Ack, gaps_lie_apart_and_inside_the_interval) {
  EXPECT_EQ(read_ack("05", "0a", "02 00 01 01 09 00"),
            (Texts{"ack 1 5 15 0 0 0 0 0 0 [5+1] [7+9]", "end"}))
      << "both ends may be missing";
  EXPECT_EQ(read_ack("05", "0a", "01 00 0b 00"), (Texts{"ack 1 5 15 0 0 0 0 0 0 [5+11]", "end"}));
  EXPECT_EQ(read_ack("05", "0a", "01 00 0c 00"), kMalformed) << "one number too long";
  EXPECT_EQ(read_ack("05", "0a", "01 0b 01 00"), kMalformed) << "begins behind the interval";
  EXPECT_EQ(read_ack("05", "0a", "01 00 00 00"), kMalformed) << "no number in it";
  EXPECT_EQ(read_ack("05", "0a", "02 00 01 00 01 00"), kMalformed) << "touches the one before";
  EXPECT_EQ(read_ack("05", "0a", "01 ffffffffffffffff ffffffffffffffff 00"), kMalformed);
}

TEST(Ack, cannot_call_a_missing_number_the_newest_received) {
  EXPECT_EQ(read_ack("05", "0a", "01 0a 01 01"), kMalformed);
  EXPECT_EQ(read_ack("05", "0a", "01 09 01 01"), (Texts{"ack 1 5 15 0 0 0 0 0 1 [14+1]", "end"}));
}

TEST(Ack, a_gap_count_beyond_the_body_costs_no_memory) {
  for (const std::string_view count : {"02", "7fff", "bfffffff", "ffffffffffffffff"}) {
    const Bytes bytes = frame_of(
        FrameType::ack, hex("0001 05 0a 00 00 00 00 00" + std::string(count) + "00 01 00"));
    std::vector<Gap> gaps;
    FrameReader reader(bytes, gaps);
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.failed());
    EXPECT_LE(gaps.capacity(), bytes.size() / 2);
  }
}

TEST(Ack, reading_does_not_allocate_once_the_scratch_has_its_size) {
  const Bytes bytes = frame_of(FrameType::ack, hex("0001 05 0a 00 00 00 00 00 02 00 01 01 09 00"));
  std::vector<Gap> gaps(16);
  const Gap* const memory = gaps.data();
  FrameReader reader(bytes, gaps);
  const auto frame = reader.next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(std::get<Ack>(*frame).gaps.data(), memory);
  EXPECT_EQ(std::get<Ack>(*frame).gaps.size(), 2u);
}

Frame valid_transfer() {
  return Transfer{.alias = 1, .tag = 2, .n = 3, .bytes = 4, .shape = Shape{4}};
}
// Offsets in the frame of valid_transfer(), whose variable-length integers have one byte each.
enum TransferOffset : std::size_t {
  kBytesAt = 3 + 3 + 8 + 1,
  kClassAt = kBytesAt + 2,
  kReliabilityAt = kClassAt + 1,
  kPieceAt = kReliabilityAt + 2,
  kCountAt = kPieceAt + 1 + 8,
  kDtypeAt = kCountAt + 1,
  kDimensionsAt = kDtypeAt + 1,
};

Texts read_transfer_with(std::size_t offset, unsigned value) {
  Bytes bytes(100);
  bytes.resize(write_frame(valid_transfer(), bytes));
  bytes[offset] = static_cast<std::byte>(value);
  return read_all(bytes);
}

TEST(Transfer, numbers_outside_their_enumeration_are_malformed) {
  EXPECT_EQ(read_transfer_with(kClassAt, 3).back(), "end");
  EXPECT_EQ(read_transfer_with(kClassAt, 4), kMalformed);
  EXPECT_EQ(read_transfer_with(kReliabilityAt, 2).back(), "end");
  EXPECT_EQ(read_transfer_with(kReliabilityAt, 3), kMalformed);
  EXPECT_EQ(read_transfer_with(kDtypeAt, 15).back(), "end");
  EXPECT_EQ(read_transfer_with(kDtypeAt, 0), kMalformed);
  EXPECT_EQ(read_transfer_with(kDtypeAt, 16), kMalformed);
  EXPECT_EQ(read_transfer_with(kPieceAt, 40).back(), "end");
  EXPECT_EQ(read_transfer_with(kPieceAt, 41), kMalformed);
  EXPECT_EQ(read_transfer_with(kCountAt, 0), kMalformed);
  EXPECT_EQ(read_transfer_with(kDimensionsAt, 9), kMalformed);
  EXPECT_EQ(read_transfer_with(kDimensionsAt, 2), kMalformed) << "an extent is missing";
}

TEST(Transfer, digest_groups_must_have_numbers) {
  Transfer transfer = std::get<Transfer>(valid_transfer());
  Bytes bytes(100);
  transfer.bytes = std::uint64_t{1} << 46;  // 2^24 groups of 64 pieces of 64 KiB
  ASSERT_GT(write_frame(transfer, bytes), 0u);
  EXPECT_EQ(read_all(bytes).back(), "end");
  ++transfer.bytes;
  ASSERT_GT(write_frame(transfer, bytes), 0u);
  EXPECT_EQ(read_all(bytes), kMalformed);
}

TEST(Transfer, loss_budget_and_extents_saturate_and_tags_have_64_bits) {
  Transfer transfer = std::get<Transfer>(valid_transfer());
  transfer.tag = ~0ULL;
  transfer.loss_budget = ~0ULL;
  transfer.shape = Shape{~0ULL, 1};
  Bytes bytes(100);
  bytes.resize(write_frame(transfer, bytes));
  std::vector<Gap> gaps;
  const auto frame = FrameReader(bytes, gaps).next();
  ASSERT_TRUE(frame);
  const auto& read = std::get<Transfer>(*frame);
  EXPECT_EQ(read.tag, ~0ULL);
  EXPECT_EQ(read.loss_budget, base::kVarintMax);
  EXPECT_EQ(read.shape, (Shape{base::kVarintMax, 1}));
}

TEST(Layout, has_chunks_and_numbers_for_all_of_them) {
  EXPECT_EQ(read_body(FrameType::layout, "000001 00 00000001 00 80ffffff"),
            (Texts{"layout 1 0 1 0 16777215", "end"}));
  EXPECT_EQ(read_body(FrameType::layout, "000001 00 00000001 00 81000000"),
            (Texts{"layout 1 0 1 0 16777216", "end"}));
  EXPECT_EQ(read_body(FrameType::layout, "000001 00 00000001 00 81000001"), kMalformed);
  EXPECT_EQ(read_body(FrameType::layout, "000001 00 00000000 00 01"), kMalformed);
  EXPECT_EQ(read_body(FrameType::layout, "000001 00 00000578 00 00"),
            (Texts{"layout 1 0 1400 0 0", "end"}));
}

TEST(Ends, carry_a_terminal_status_that_exists) {
  for (unsigned status = 0; status < 256; ++status) {
    const std::string number{"0123456789abcdef"[status / 16], "0123456789abcdef"[status % 16]};
    const bool valid = status >= 1 && status <= 9;
    const std::string last = valid ? "end" : "malformed";
    EXPECT_EQ(read_body(FrameType::send_end, "0000000000000001 02" + number + "00").back(), last);
    EXPECT_EQ(read_body(FrameType::receive_end, "0000000000000001 02" + number + "00 00").back(),
              last);
  }
}

std::string written_reason(std::string_view reason) {
  Bytes bytes(400);
  bytes.resize(write_frame(ConnectionClose{0, 0, reason}, bytes));
  std::vector<Gap> gaps;
  const auto frame = FrameReader(bytes, gaps).next();
  return frame ? std::string(std::get<ConnectionClose>(*frame).reason) : "malformed";
}

TEST(Reason, is_cut_between_characters_at_255_bytes) {
  const std::string full(255, 'x');
  EXPECT_EQ(written_reason(full), full);
  EXPECT_EQ(written_reason(full + "y"), full);
  const std::string euro = "\xe2\x82\xac";
  EXPECT_EQ(written_reason(std::string(252, 'x') + euro), std::string(252, 'x') + euro);
  EXPECT_EQ(written_reason(std::string(253, 'x') + euro), std::string(253, 'x'));
  EXPECT_EQ(written_reason(std::string(254, 'x') + euro), std::string(254, 'x'));
  EXPECT_EQ(written_reason(full + euro), full);
  EXPECT_EQ(written_reason(std::string(300, '\x80')).size(), 252u) << "no UTF-8: cut all the same";
}

TEST(FrameWriter, refuses_what_the_format_cannot_carry) {
  EXPECT_GT(size_of(valid_transfer()), 0u);
  Transfer transfer = std::get<Transfer>(valid_transfer());
  transfer.alias = kAliasMax + 1;
  EXPECT_EQ(size_of(transfer), 0u);
  EXPECT_EQ(size_of(AllSent{1, base::kVarintMax + 1}), 0u);
  EXPECT_GT(size_of(AllSent{1, base::kVarintMax}), 0u);
  EXPECT_EQ(size_of(Ack{.floor = 5, .largest = 4}), 0u) << "largest below the floor";
  const Gap reversed[] = {{9, 1}, {5, 1}};
  EXPECT_EQ(size_of(Ack{.floor = 5, .largest = 20, .gaps = reversed}), 0u);
  const Bytes longest(kFrameBodyMax - 2);
  EXPECT_EQ(size_of(Handshake{0, 0, longest}), kFrameHeaderBytes + kFrameBodyMax);
  const Bytes too_long(kFrameBodyMax - 1);
  EXPECT_EQ(size_of(Handshake{0, 0, too_long}), 0u) << "length field of 16 bits";
}

}  // namespace
}  // namespace longhaul::wire
