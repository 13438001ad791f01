// SPDX-License-Identifier: Apache-2.0
#include "lib/connection/handshake_stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "lib/base/random.hpp"

namespace longhaul::connection {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(base::Random& random, std::size_t size) {
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
  return bytes;
}

// Writes a frame of at most `room` bytes and hands it to `to`, or loses it.
struct Line {
  std::vector<wire::Gap> scratch;
  Bytes packet;
  bool carry(HandshakeStream& from, HandshakeStream& to, std::size_t room, bool lost) {
    packet.resize(room);
    packet.resize(from.write(packet));
    if (lost) return true;
    wire::FrameReader reader(packet, scratch);
    const auto frame = reader.next();
    return frame && to.on_frame(std::get<wire::Handshake>(*frame));
  }
};

TEST(HandshakeStream, arrives_in_order_and_once_whatever_the_line_does) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    base::Random random(seed);
    HandshakeStream a;
    HandshakeStream b;
    Line line;
    Bytes sent = random_bytes(random, 1 + random.below(20'000));
    Bytes arrived;
    a.outgoing() = sent;
    for (int round = 0; round < 1000 && b.received() < sent.size(); ++round) {
      a.rewind(round % 3 == 2);
      while (a.has_unsent()) {
        ASSERT_TRUE(line.carry(a, b, 20 + random.below(1200), random.below(3) == 0));
        const auto part = b.take();
        arrived.insert(arrived.end(), part.begin(), part.end());
      }
      ASSERT_TRUE(line.carry(b, a, 64, random.below(3) == 0));
    }
    EXPECT_EQ(arrived, sent) << seed;
  }
}

TEST(HandshakeStream, what_comes_early_waits_and_what_comes_twice_is_dropped) {
  HandshakeStream stream;
  const Bytes abcdef{std::byte{'a'}, std::byte{'b'}, std::byte{'c'},
                     std::byte{'d'}, std::byte{'e'}, std::byte{'f'}};
  const auto part = [&](std::size_t begin, std::size_t size) {
    return wire::Handshake{begin, 0, std::span(abcdef).subspan(begin, size)};
  };
  ASSERT_TRUE(stream.on_frame(part(4, 2)));
  ASSERT_TRUE(stream.on_frame(part(2, 1)));
  EXPECT_TRUE(stream.take().empty());
  ASSERT_TRUE(stream.on_frame(part(0, 3)));
  EXPECT_EQ(stream.received(), 3u);
  ASSERT_TRUE(stream.on_frame(part(1, 4)));
  ASSERT_TRUE(stream.on_frame(part(0, 6)));
  EXPECT_TRUE(std::ranges::equal(stream.take(), abcdef));
  EXPECT_FALSE(stream.contradicted());
  const Bytes other(2, std::byte{'x'});
  ASSERT_TRUE(stream.on_frame({3, 0, other}));
  EXPECT_TRUE(stream.contradicted());
  EXPECT_TRUE(stream.take().empty());
}

TEST(HandshakeStream, lies_are_refused_and_cost_no_memory) {
  HandshakeStream stream;
  stream.outgoing() = Bytes(100);
  EXPECT_TRUE(stream.on_frame({0, 101, {}}));
  stream.rewind(false);
  EXPECT_FALSE(stream.has_unsent()) << "no more than all of it";
  const Bytes data(1000);
  EXPECT_FALSE(stream.on_frame({HandshakeStream::kBytesMax, 0, data}));
  EXPECT_FALSE(stream.on_frame({~std::uint64_t{0}, 0, data}));
  // Far more pieces than a window holds, none of which can be used yet.
  for (std::uint64_t offset = 1; offset < 200'000; offset += 7)
    EXPECT_TRUE(stream.on_frame({offset, 0, std::span(data).first(3)}));
  EXPECT_EQ(stream.received(), 0u);
}

TEST(HandshakeStream, large_pieces_that_overlap_are_not_all_kept) {
  HandshakeStream stream;
  const Bytes data(200'000);
  for (std::uint64_t i = 0; i < 50; ++i) EXPECT_TRUE(stream.on_frame({1 + 1000 * i, 0, data}));
  EXPECT_TRUE(stream.on_frame({0, 0, std::span(data).first(1)}));
  EXPECT_EQ(stream.received(), 200'001u) << "the first piece and none behind it";
}

TEST(HandshakeStream, a_made_up_claim_of_receipt_is_forgotten_with_the_next) {
  HandshakeStream stream;
  stream.outgoing() = Bytes(100);
  Bytes packet(200);
  ASSERT_TRUE(stream.on_frame({0, 100, {}}));
  stream.rewind(false);
  EXPECT_FALSE(stream.has_unsent());
  stream.rewind(true);
  EXPECT_TRUE(stream.has_unsent());
  ASSERT_TRUE(stream.on_frame({0, 40, {}}));
  stream.rewind(false);
  EXPECT_TRUE(stream.has_unsent());
}

}  // namespace
}  // namespace longhaul::connection
