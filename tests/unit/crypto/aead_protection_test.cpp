// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/aead_protection.hpp"

#include <gtest/gtest.h>

#include "lib/wire/packet.hpp"
#include "tests/unit/crypto/aead_packets.hpp"

namespace longhaul::crypto {
namespace {

using test::Bytes;
using test::Choice;
using test::Content;
using test::kShapes;
using test::opened;
using test::Packet;
using test::Pair;
using test::random_content;
using test::sealed;
using test::Shape;
using test::Slot;

constexpr std::uint16_t kSpace = 0x1234;
constexpr std::uint64_t kNumber = 0x0123456789abcdef;

class AeadProtectionTest : public testing::TestWithParam<Choice> {
 protected:
  void SetUp() override {
    if (make_aead(GetParam().cipher, GetParam().engine) == nullptr) {
      GTEST_SKIP() << "SKIP: this machine has no " << GetParam().name;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, AeadProtectionTest, testing::ValuesIn(test::kChoices),
                         [](const auto& choice) { return std::string(choice.param.name); });

TEST_P(AeadProtectionTest, opens_what_the_peer_sealed) {
  Pair pair(GetParam());
  base::Random random(1);
  for (const Shape& shape : kShapes) {
    for (const bool from_client : {true, false}) {
      const Content content = random_content(random, shape);
      Packet packet = sealed(pair.end(from_client), content, kSpace, kNumber);
      const Bytes text = content.text();
      EXPECT_EQ(packet.bytes.size(), packet.header_bytes + 16 + text.size());
      EXPECT_TRUE(text.size() < 8 || packet.text() != text);
      EXPECT_TRUE(opened(pair.end(!from_client), packet));
      EXPECT_EQ(packet.text(), text);
    }
  }
}

TEST_P(AeadProtectionTest, leaves_header_tensor_and_the_rest_of_the_slot_alone) {
  Pair pair(GetParam());
  base::Random random(2);
  for (const Shape& shape : kShapes) {
    const Content content = random_content(random, shape);
    const Content before = content;
    const Slot slot(pair.end(true), content, kSpace, kNumber);
    const Bytes header(slot.memory.begin(),
                       slot.memory.begin() + static_cast<std::ptrdiff_t>(slot.job.header_bytes));
    pair.end(true).seal(std::span(&slot.job, 1));
    EXPECT_EQ(content.payload, before.payload);
    EXPECT_TRUE(slot.datagram.payload.empty());
    EXPECT_TRUE(std::ranges::equal(std::span(slot.memory).first(header.size()), header));
    const auto behind = std::span(slot.memory).subspan(slot.datagram.head_size);
    EXPECT_FALSE(behind.empty());
    for (const std::byte byte : behind) EXPECT_EQ(byte, std::byte{0xdd});
  }
}

// As RFC 8446 §5.3 makes it: the same text under other numbers or spaces looks different.
TEST_P(AeadProtectionTest, binds_space_and_number) {
  Pair pair(GetParam());
  const Content content{wire::PacketType::control, Bytes(64, std::byte{0}), {}};
  const Packet packet = sealed(pair.end(true), content, kSpace, kNumber);
  for (int bit = 0; bit < 64; ++bit) {
    Packet other = packet;
    other.number ^= std::uint64_t{1} << bit;
    EXPECT_FALSE(opened(pair.end(false), other)) << bit;
    EXPECT_NE(sealed(pair.end(true), content, kSpace, kNumber ^ std::uint64_t{1} << bit).text(),
              packet.text());
  }
  for (int bit = 0; bit < 16; ++bit) {
    Packet other = packet;
    other.space = static_cast<std::uint16_t>(other.space ^ 1u << bit);
    EXPECT_FALSE(opened(pair.end(false), other)) << bit;
  }
}

TEST_P(AeadProtectionTest, refuses_every_flipped_bit) {
  Pair pair(GetParam());
  base::Random random(3);
  for (const Shape& shape : kShapes) {
    const Packet packet = sealed(pair.end(true), random_content(random, shape), kSpace, kNumber);
    const std::size_t step = packet.bytes.size() > 2000 ? 131 : 1;
    for (std::size_t bit = 0; bit < packet.bytes.size() * 8; bit += step) {
      Packet changed = packet;
      changed.bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      ASSERT_FALSE(opened(pair.end(false), changed)) << bit;
    }
    Packet copy = packet;
    EXPECT_TRUE(opened(pair.end(false), copy)) << "none of that has changed the keys";
  }
  EXPECT_EQ(pair.end(false).key_updates(), 0u);
}

TEST_P(AeadProtectionTest, refuses_every_prefix_without_touching_what_is_behind) {
  Pair pair(GetParam());
  base::Random random(4);
  wire::test::GuardedMemory memory(4096);
  const Packet packet = sealed(
      pair.end(true), random_content(random, {wire::PacketType::source, 0, 1400}), kSpace, kNumber);
  base::RxDatagram datagram;
  OpenJob job{&datagram, packet.header_bytes, kSpace, kNumber, true};
  for (std::size_t size = 0; size < packet.bytes.size(); ++size) {
    datagram.data = memory.copy(std::span(packet.bytes).first(size));
    pair.end(false).open(std::span(&job, 1));
    ASSERT_FALSE(job.ok) << size;
  }
  datagram.data = memory.copy(packet.bytes);
  pair.end(false).open(std::span(&job, 1));
  EXPECT_TRUE(job.ok);
}

TEST_P(AeadProtectionTest, seals_up_to_the_end_of_slot_and_tensor) {
  Pair pair(GetParam());
  base::Random random(5);
  wire::test::GuardedMemory slot_memory(4096);
  wire::test::GuardedMemory tensor(4096);
  for (std::size_t payload = 0; payload < 300; ++payload) {
    const Content content = random_content(random, {wire::PacketType::source, 0, payload});
    Slot slot(pair.end(true), content, kSpace, kNumber);
    const std::size_t full = slot.datagram.head_size + payload;
    slot.datagram.head = slot_memory.copy(std::span(slot.memory).first(full));
    slot.datagram.payload = tensor.copy(content.payload);
    pair.end(true).seal(std::span(&slot.job, 1));
    std::ranges::copy(slot.datagram.head, slot.memory.begin());
    Packet packet = slot.packet();
    ASSERT_EQ(packet.bytes.size(), full);
    ASSERT_TRUE(opened(pair.end(false), packet));
    ASSERT_EQ(packet.text(), content.payload);
  }
}

TEST_P(AeadProtectionTest, judges_each_packet_of_a_long_burst_by_itself) {
  Pair pair(GetParam());
  base::Random random(6);
  constexpr std::size_t kBurst = 101;
  std::vector<Content> contents;
  std::vector<std::unique_ptr<Slot>> slots;
  std::vector<SealJob> seal_jobs;
  for (std::size_t i = 0; i < kBurst; ++i) {
    contents.push_back(random_content(random, kShapes[i % std::size(kShapes)]));
  }
  for (std::size_t i = 0; i < kBurst; ++i) {
    slots.push_back(std::make_unique<Slot>(pair.end(true), contents[i], kSpace, i));
    seal_jobs.push_back(slots.back()->job);
  }
  pair.end(true).seal(seal_jobs);
  std::vector<Packet> packets;
  for (const auto& slot : slots) packets.push_back(slot->packet());
  std::vector<base::RxDatagram> datagrams(kBurst);
  std::vector<OpenJob> jobs;
  for (std::size_t i = 0; i < kBurst; ++i) {
    if (i % 7 == 1) packets[i].bytes.back() ^= std::byte{4};
    if (i % 7 == 2) packets[i].bytes.resize(10);
    datagrams[i].data = packets[i].bytes;
    datagrams[i].damaged = i % 7 == 3;
    jobs.push_back({&datagrams[i], packets[i].header_bytes, kSpace, i, i % 2 == 0});
  }
  pair.end(false).open(jobs);
  for (std::size_t i = 0; i < kBurst; ++i) {
    EXPECT_EQ(jobs[i].ok, i % 7 == 0 || i % 7 > 3) << i;
    EXPECT_TRUE(!jobs[i].ok || packets[i].text() == contents[i].text());
  }
}

TEST_P(AeadProtectionTest, opens_a_packet_twice) {
  Pair pair(GetParam());
  const Content content{wire::PacketType::control, Bytes(50, std::byte{9}), {}};
  const Packet packet = sealed(pair.end(true), content, kSpace, kNumber);
  for (int i = 0; i < 2; ++i) {
    Packet copy = packet;
    EXPECT_TRUE(opened(pair.end(false), copy)) << "to see duplicates is the connection's";
  }
}

TEST_P(AeadProtectionTest, does_not_open_its_own_packets) {
  Pair pair(GetParam());
  Packet packet = sealed(pair.end(true), {}, kSpace, kNumber);
  EXPECT_FALSE(opened(pair.end(true), packet));
}

TEST_P(AeadProtectionTest, needs_sixteen_bytes) {
  EXPECT_EQ(Pair(GetParam()).end(true).overhead(), 16u);
}

TEST(AeadProtection, bytes_on_the_wire_are_fixed) {
  // Also computed with Python's cryptography: changing any of this changes the protocol.
  const Content content{wire::PacketType::control, test::hex("00010203"), {}};
  Pair aes({"", PacketCipher::aes_128_gcm, AeadEngine::fastest});
  EXPECT_EQ(sealed(aes.end(true), content, kSpace, kNumber).bytes,
            test::hex("2201020304123489abcdefae6d35f43e5b95c68e154ee783c14a922384ddf9"));
  Pair chacha({"", PacketCipher::chacha20_poly1305, AeadEngine::fastest});
  EXPECT_EQ(sealed(chacha.end(true), content, kSpace, kNumber).bytes,
            test::hex("2201020304123489abcdef574b047015734c22659ab888c1fa6713607dd0b2"));
}

}  // namespace
}  // namespace longhaul::crypto
