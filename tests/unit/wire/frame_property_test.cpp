// SPDX-License-Identifier: Apache-2.0
// Frames of every kind, random and damaged. All memory ends at a guard page.
#include <gtest/gtest.h>

#include "lib/base/byte_writer.hpp"
#include "tests/unit/wire/frame_generator.hpp"
#include "tests/unit/wire/frame_text.hpp"

namespace longhaul::wire {
namespace {

using test::Bytes;
using test::FrameGenerator;
using test::GuardedMemory;
using test::text_of;

constexpr std::size_t kPacketMax = 65536;

Bytes written(const Frame& frame) {
  Bytes out(kPacketMax);
  out.resize(write_frame(frame, out));
  return out;
}

void expect_sound_gaps(const Frame& frame, std::size_t packet_bytes) {
  const auto* const ack = std::get_if<Ack>(&frame);
  if (ack == nullptr) return;
  ASSERT_LE(ack->floor, ack->largest);
  ASSERT_LE(ack->largest, kPacketNumberMax);
  ASSERT_LE(ack->gaps.size(), packet_bytes / 2);
  std::uint64_t lowest = ack->floor;
  for (const Gap& gap : ack->gaps) {
    ASSERT_GE(gap.first, lowest);
    ASSERT_GE(gap.length, 1u);
    ASSERT_LE(gap.first + gap.length - 1, ack->largest);
    lowest = gap.first + gap.length + 1;
  }
}

TEST(FrameRoundTrip, every_field_of_every_frame_survives) {
  FrameGenerator generator(11);
  GuardedMemory memory(kPacketMax);
  std::vector<Gap> gaps;
  for (std::size_t i = 0; i < 30000; ++i) {
    const Frame frame = generator.frame(i % std::variant_size_v<Frame>);
    const Bytes bytes = written(frame);
    ASSERT_FALSE(bytes.empty()) << text_of(frame);
    FrameReader reader(memory.copy(bytes), gaps);
    const auto read = reader.next();
    ASSERT_TRUE(read) << text_of(frame);
    ASSERT_EQ(text_of(*read), text_of(frame));
    ASSERT_FALSE(reader.next());
    ASSERT_FALSE(reader.failed());
  }
}

TEST(FrameRoundTrip, writing_takes_exactly_its_size_and_refuses_less) {
  FrameGenerator generator(12);
  GuardedMemory memory(kPacketMax);
  for (std::size_t i = 0; i < 3000; ++i) {
    const Frame frame = generator.frame(i % std::variant_size_v<Frame>);
    const Bytes bytes = written(frame);
    const auto exact = memory.copy(Bytes(bytes.size()));
    ASSERT_EQ(write_frame(frame, exact), bytes.size());
    ASSERT_TRUE(std::ranges::equal(exact, bytes));
    const std::size_t step = 1 + bytes.size() / 50;
    for (std::size_t size = 0; size < bytes.size(); size += step) {
      ASSERT_EQ(write_frame(frame, memory.copy(Bytes(size))), 0u) << text_of(frame);
    }
  }
}

struct Packet {
  Bytes bytes;
  std::vector<std::string> texts;
  std::vector<std::size_t> ends;  // offset behind each frame, skipped ones included
};

Packet random_packet(FrameGenerator& generator) {
  Packet packet;
  packet.ends.push_back(0);
  const std::uint64_t count = 1 + generator.random().below(6);
  for (std::uint64_t i = 0; i < count; ++i) {
    Bytes bytes;
    if (generator.random().below(5) == 0) {
      bytes.resize(kFrameHeaderBytes + generator.random().below(20));
      base::ByteWriter writer(bytes);
      writer.u8(static_cast<std::uint8_t>(0x80 | generator.random().below(128)));
      writer.u16(static_cast<std::uint16_t>(bytes.size() - kFrameHeaderBytes));
    } else {
      const Frame frame = generator.frame();
      bytes = written(frame);
      packet.texts.push_back(text_of(frame));
    }
    packet.bytes.insert(packet.bytes.end(), bytes.begin(), bytes.end());
    packet.ends.push_back(packet.bytes.size());
  }
  return packet;
}

TEST(FrameSequence, comes_back_in_order_with_optional_frames_and_padding_between) {
  FrameGenerator generator(13);
  GuardedMemory memory(kPacketMax);
  for (int i = 0; i < 3000; ++i) {
    Packet packet = random_packet(generator);
    packet.bytes.resize(packet.bytes.size() + generator.random().below(40));
    std::vector<Gap> gaps;
    FrameReader reader(memory.copy(packet.bytes), gaps);
    for (const std::string& text : packet.texts) {
      const auto frame = reader.next();
      ASSERT_TRUE(frame) << text;
      ASSERT_EQ(text_of(*frame), text);
    }
    ASSERT_FALSE(reader.next());
    ASSERT_FALSE(reader.failed());
  }
}

TEST(FrameTruncation, every_prefix_gives_the_whole_frames_in_it_and_no_more) {
  FrameGenerator generator(14);
  GuardedMemory memory(kPacketMax);
  std::vector<Gap> gaps;
  for (int i = 0; i < 60; ++i) {
    const Packet packet = random_packet(generator);
    for (std::size_t size = 0; size < packet.bytes.size(); ++size) {
      FrameReader reader(memory.copy(std::span(packet.bytes).first(size)), gaps);
      std::size_t count = 0;
      while (const auto frame = reader.next()) {
        ASSERT_LT(count, packet.texts.size());
        ASSERT_EQ(text_of(*frame), packet.texts[count++]);
      }
      const bool between_frames = std::ranges::find(packet.ends, size) != packet.ends.end();
      ASSERT_EQ(reader.failed(), !between_frames) << size;
    }
  }
}

TEST(FrameTruncation, a_body_shorter_than_its_fields_is_malformed) {
  FrameGenerator generator(15);
  GuardedMemory memory(kPacketMax);
  std::vector<Gap> gaps;
  for (std::size_t i = 0; i < 600; ++i) {
    const Frame frame = generator.frame(i % std::variant_size_v<Frame>);
    // The last field of these two is "the rest".
    if (std::holds_alternative<Handshake>(frame)) continue;
    if (std::holds_alternative<TransportParametersFrame>(frame)) continue;
    Bytes bytes = written(frame);
    while (bytes.size() > kFrameHeaderBytes) {
      bytes.pop_back();
      const std::size_t body = bytes.size() - kFrameHeaderBytes;
      base::ByteWriter(std::span<std::byte>(bytes).subspan(1))
          .u16(static_cast<std::uint16_t>(body));
      FrameReader reader(memory.copy(bytes), gaps);
      ASSERT_FALSE(reader.next()) << text_of(frame) << " cut to " << body;
      ASSERT_TRUE(reader.failed());
    }
  }
}

// Reads to the end; what is accepted keeps the rules and survives another trip.
void read_hostile(std::span<const std::byte> bytes, std::size_t& accepted) {
  std::vector<Gap> gaps;
  FrameReader reader(bytes, gaps);
  for (std::size_t count = 0;; ++count) {
    ASSERT_LE(count * kFrameHeaderBytes, bytes.size());
    const auto frame = reader.next();
    ASSERT_LE(gaps.capacity(), bytes.size() / 2);
    if (!frame) return;
    ++accepted;
    ASSERT_NO_FATAL_FAILURE(expect_sound_gaps(*frame, bytes.size()));
    const std::string text = text_of(*frame);
    const Bytes again = written(*frame);
    ASSERT_FALSE(again.empty()) << text;
    std::vector<Gap> gaps_again;
    const auto second = FrameReader(again, gaps_again).next();
    ASSERT_TRUE(second) << text;
    ASSERT_EQ(text_of(*second), text);
  }
}

TEST(HostileFrames, damaged_packets_never_break_a_rule) {
  FrameGenerator generator(16);
  base::Random random(17);
  GuardedMemory memory(kPacketMax);
  std::size_t accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    Bytes bytes = random_packet(generator).bytes;
    for (std::uint64_t damage = random.below(6); damage > 0 && !bytes.empty(); --damage) {
      // Near the front more often, where counts and lengths are.
      const std::size_t at = random.below(1 + random.below(bytes.size()));
      switch (random.below(4)) {
        case 0:
          bytes[at] = static_cast<std::byte>(random.next());
          break;
        case 1:
          bytes[at] ^= static_cast<std::byte>(1u << random.below(8));
          break;
        case 2:
          bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::byte{0xff});
          break;
        default:
          bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    ASSERT_NO_FATAL_FAILURE(read_hostile(memory.copy(bytes), accepted));
  }
  EXPECT_GT(accepted, 10000u) << "the damage must leave something to judge";
}

TEST(HostileFrames, noise_behind_a_valid_frame_header_never_breaks_a_rule) {
  base::Random random(18);
  GuardedMemory memory(kPacketMax);
  std::size_t accepted = 0;
  for (int i = 0; i < 100000; ++i) {
    Bytes bytes = test::random_bytes(random, kFrameHeaderBytes + random.below(80));
    base::ByteWriter writer(bytes);
    const std::uint64_t type = 1 + random.below(15);
    writer.u8(static_cast<std::uint8_t>(type <= 8 ? type : type + 7));
    writer.u16(static_cast<std::uint16_t>(bytes.size() - kFrameHeaderBytes));
    ASSERT_NO_FATAL_FAILURE(read_hostile(memory.copy(bytes), accepted));
  }
  EXPECT_GT(accepted, 10000u);
}

}  // namespace
}  // namespace longhaul::wire
