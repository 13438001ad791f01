// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/crc_protection.hpp"

#include <gtest/gtest.h>

#include "lib/wire/packet.hpp"
#include "tests/unit/wire/bytes.hpp"

namespace longhaul::crypto {
namespace {

using base::PayloadMode;
using wire::test::Bytes;
using wire::test::hex;

constexpr std::size_t kOverhead = wire::kCrcBytes;

/// A sealed packet as its sender has it: head (header, integrity, frames) and tensor memory.
struct Sealed {
  Bytes head;
  Bytes payload;
  std::size_t header_bytes = 0;

  Bytes on_the_wire() const {
    Bytes bytes = head;
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
  }
};

Bytes header_of(wire::PacketType type) {
  wire::ShortHeader header;
  header.type = type;
  header.connection_id = 0x01020304;
  header.space = 5;
  header.packet_number = 77;
  header.alias = type == wire::PacketType::control ? 0 : 9;
  Bytes bytes(wire::header_bytes(type));
  wire::write_short_header(header, bytes);
  return bytes;
}

Sealed seal(PayloadMode mode, wire::PacketType type, const Bytes& frames, const Bytes& payload) {
  Sealed sealed;
  sealed.head = header_of(type);
  sealed.header_bytes = sealed.head.size();
  sealed.head.resize(sealed.head.size() + kOverhead, std::byte{0xcc});
  sealed.head.insert(sealed.head.end(), frames.begin(), frames.end());
  sealed.payload = payload;
  Bytes slot = sealed.head;
  slot.resize(slot.size() + 100, std::byte{0xdd});  // a slot has more room than the head needs
  base::TxDatagram datagram;
  datagram.head = slot;
  datagram.head_size = sealed.head.size();
  datagram.payload = sealed.payload;
  const SealJob job{&datagram, sealed.header_bytes, 5, 77};
  CrcProtection(mode).seal(std::span(&job, 1));
  EXPECT_EQ(datagram.head_size, sealed.head.size());
  EXPECT_TRUE(std::ranges::equal(std::span(slot).first(sealed.header_bytes),
                                 std::span(sealed.head).first(sealed.header_bytes)));
  EXPECT_TRUE(std::ranges::equal(
      std::span(slot).subspan(sealed.header_bytes + kOverhead, frames.size()), frames));
  std::copy_n(slot.begin(), sealed.head.size(), sealed.head.begin());
  return sealed;
}

bool open(PayloadMode mode, std::span<std::byte> bytes, std::size_t header_bytes,
          std::span<const std::byte> reference = {}, bool damaged = false) {
  base::RxDatagram datagram;
  datagram.data = bytes;
  datagram.reference = reference;
  datagram.damaged = damaged;
  OpenJob job{&datagram, header_bytes, 5, 77, false};
  CrcProtection(mode).open(std::span(&job, 1));
  return job.ok;
}

TEST(CrcProtection, writes_the_checksum_of_header_and_payload_behind_the_header) {
  const Sealed sealed =
      seal(PayloadMode::bytes, wire::PacketType::source, {}, hex("313233343536373839"));
  Bytes covered = header_of(wire::PacketType::source);
  const Bytes digits = hex("313233343536373839");
  covered.insert(covered.end(), digits.begin(), digits.end());
  const std::uint32_t crc = wire::crc32c(covered);
  ASSERT_EQ(sealed.head.size(), wire::kSourceHeaderBytes + kOverhead);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(sealed.head[wire::kSourceHeaderBytes + i],
              static_cast<std::byte>(crc >> (24 - 8 * i)));
  }
}

struct Shape {
  wire::PacketType type;
  std::size_t frames;
  std::size_t payload;
};
constexpr Shape kShapes[] = {
    {wire::PacketType::source, 0, 1400}, {wire::PacketType::source, 0, 1},
    {wire::PacketType::source, 0, 0},    {wire::PacketType::repair, 0, 700},
    {wire::PacketType::control, 300, 0}, {wire::PacketType::control, 0, 0},
    {wire::PacketType::digest, 512, 0},  {wire::PacketType::digest, 40, 60},
};

// As a receiver does: the header tells where integrity stands.
bool accepted(PayloadMode mode, std::span<std::byte> bytes) {
  const auto header = wire::read_short_header(bytes);
  return header && open(mode, bytes, wire::header_bytes(header->type));
}

TEST(CrcProtection, opens_what_it_sealed_and_detects_every_flipped_bit) {
  base::Random random(51);
  for (const Shape& shape : kShapes) {
    const Sealed sealed =
        seal(PayloadMode::bytes, shape.type, wire::test::random_bytes(random, shape.frames),
             wire::test::random_bytes(random, shape.payload));
    Bytes bytes = sealed.on_the_wire();
    const Bytes before = bytes;
    ASSERT_TRUE(accepted(PayloadMode::bytes, bytes));
    ASSERT_EQ(bytes, before) << "opening changes nothing";
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      ASSERT_FALSE(accepted(PayloadMode::bytes, bytes)) << bit;
      bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    }
  }
}

TEST(CrcProtection, refuses_every_prefix_without_reading_beyond_it) {
  base::Random random(52);
  wire::test::GuardedMemory memory(4096);
  const Sealed sealed = seal(PayloadMode::bytes, wire::PacketType::source, {},
                             wire::test::random_bytes(random, 1400));
  const Bytes bytes = sealed.on_the_wire();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_FALSE(
        open(PayloadMode::bytes, memory.copy(std::span(bytes).first(size)), sealed.header_bytes))
        << size;
  }
  EXPECT_TRUE(open(PayloadMode::bytes, memory.copy(bytes), sealed.header_bytes));
}

TEST(CrcProtection, by_reference_covers_the_head_and_never_reads_the_payload) {
  wire::test::GuardedMemory memory(64);
  const auto untouchable = memory.forbidden(1400);
  Bytes head = header_of(wire::PacketType::source);
  const std::size_t header_bytes = head.size();
  head.resize(head.size() + kOverhead);
  base::TxDatagram datagram;
  datagram.head = head;
  datagram.head_size = head.size();
  datagram.payload = untouchable;
  const SealJob job{&datagram, header_bytes, 5, 77};
  CrcProtection(PayloadMode::reference).seal(std::span(&job, 1));

  EXPECT_TRUE(open(PayloadMode::reference, head, header_bytes, untouchable));
  EXPECT_FALSE(open(PayloadMode::reference, head, header_bytes, untouchable, true))
      << "the network's word for damage nobody carries";
  for (std::size_t bit = 0; bit < head.size() * 8; ++bit) {
    head[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_FALSE(open(PayloadMode::reference, head, header_bytes, untouchable)) << bit;
    head[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  }
}

TEST(CrcProtection, by_reference_still_covers_frames) {
  base::Random random(53);
  const Sealed sealed = seal(PayloadMode::reference, wire::PacketType::control,
                             wire::test::random_bytes(random, 200), {});
  Bytes bytes = sealed.on_the_wire();
  EXPECT_TRUE(open(PayloadMode::reference, bytes, sealed.header_bytes));
  EXPECT_TRUE(open(PayloadMode::bytes, bytes, sealed.header_bytes))
      << "control is the same in both";
  bytes.back() ^= std::byte{1};
  EXPECT_FALSE(open(PayloadMode::reference, bytes, sealed.header_bytes));
}

TEST(CrcProtection, judges_each_packet_of_a_burst_by_itself) {
  base::Random random(54);
  constexpr std::size_t kBurst = 9;
  std::vector<Bytes> packets;
  std::vector<base::RxDatagram> datagrams(kBurst);
  std::vector<OpenJob> jobs;
  for (std::size_t i = 0; i < kBurst; ++i) {
    const Sealed sealed = seal(PayloadMode::bytes, wire::PacketType::source, {},
                               wire::test::random_bytes(random, 100 + i));
    packets.push_back(sealed.on_the_wire());
    if (i % 3 == 1) packets.back()[50] ^= std::byte{4};
  }
  for (std::size_t i = 0; i < kBurst; ++i) {
    datagrams[i].data = packets[i];
    jobs.push_back({&datagrams[i], wire::kSourceHeaderBytes, 5, 77, i % 2 == 0});
  }
  CrcProtection(PayloadMode::bytes).open(jobs);
  for (std::size_t i = 0; i < kBurst; ++i) EXPECT_EQ(jobs[i].ok, i % 3 != 1) << i;
}

TEST(CrcProtection, needs_four_bytes) {
  EXPECT_EQ(CrcProtection(PayloadMode::bytes).overhead(), 4u);
}

}  // namespace
}  // namespace longhaul::crypto
