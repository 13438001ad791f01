// SPDX-License-Identifier: Apache-2.0
// What an endpoint says in the clear tells nobody what it keeps to itself or says next.
#include <gtest/gtest.h>

#include <set>

#include "lib/crypto/keyed_hash.hpp"
#include "tests/unit/connection/network.hpp"
#include "tests/unit/connection/packets.hpp"

namespace longhaul::endpoint {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// SplitMix64, forwards and backwards: one of its outputs gives its state and with it all others.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t output) {
    std::uint64_t z = undo_shift(output, 31) * inverse(0x94d049bb133111eb);
    z = undo_shift(z, 27) * inverse(0xbf58476d1ce4e5b9);
    state_ = undo_shift(z, 30);
  }
  /// The output so many steps later (or earlier).
  std::uint64_t at(std::int64_t steps) const {
    std::uint64_t z = state_ + static_cast<std::uint64_t>(steps) * 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  static std::uint64_t undo_shift(std::uint64_t z, int bits) {
    std::uint64_t result = z;
    for (int known = bits; known < 64; known += bits) result = z ^ (result >> bits);
    return result;
  }
  static std::uint64_t inverse(std::uint64_t odd) {
    std::uint64_t result = odd;
    for (int i = 0; i < 6; ++i) result *= 2 - odd * result;
    return result;
  }
  std::uint64_t state_ = 0;
};

struct SecretsTest : testing::Test {
  Network network;
  std::vector<wire::LongPeek> initials;

  SecretsTest() {
    network.on_leave = [&](Parcel& parcel) {
      if (!wire::is_long(parcel.bytes[0])) return true;
      const auto peek = wire::peek_long(parcel.bytes);
      if (peek && peek->type == wire::LongType::initial) initials.push_back(*peek);
      return true;
    };
  }
};

TEST_F(SecretsTest, the_model_of_the_weak_generator_is_right) {
  // The first outputs from seed 1234567.
  const SplitMix random(6457827717110365317u);
  EXPECT_EQ(random.at(0), 6457827717110365317u);
  EXPECT_EQ(random.at(1), 3203168211198807973u);
  EXPECT_EQ(SplitMix(3203168211198807973u).at(-1), 6457827717110365317u);
}

TEST_F(SecretsTest, an_attempt_number_tells_no_connection_id) {
  Host& client = network.add(1);
  Host& server = network.add(2);
  for (int i = 0; i < 4; ++i) network.connect(client, server);
  ASSERT_GE(initials.size(), 4u);
  std::set<std::uint32_t> ids;
  for (const wire::LongPeek& initial : initials) ids.insert(initial.source_id);
  for (const wire::LongPeek& initial : initials) {
    const SplitMix guess(initial.attempt);
    for (int steps = -200; steps <= 200; ++steps)
      EXPECT_EQ(ids.count(static_cast<std::uint32_t>(guess.at(steps))), 0u) << steps;
  }
}

TEST_F(SecretsTest, an_attempt_number_tells_no_key_of_resets) {
  Host& client = network.add(1);
  Host& server = network.add(2);
  network.connect(client, server);
  std::optional<wire::ResetToken> given;
  std::uint32_t cid = 0;
  network.on_leave = [&](Parcel& parcel) {
    if (const auto reset = wire::read_reset(parcel.bytes)) {
      given = reset->token;
      cid = reset->connection_id;
    }
    return true;
  };
  // Asked for an ID it never gave, the endpoint shows a token it has made.
  std::vector<std::byte> stray(100);
  stray[0] = std::byte{0x20};
  stray[4] = std::byte{77};
  network.inject(address(9), client.address, stray);
  network.run(milliseconds(50));
  ASSERT_TRUE(given.has_value());
  ASSERT_EQ(cid, 77u);
  const SplitMix guess(initials.front().attempt);
  const std::array message{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{77}};
  for (int first = -200; first <= 200; ++first) {
    std::array<std::byte, 32> key;
    for (int i = 0; i < 32; ++i)
      key[static_cast<std::size_t>(i)] = static_cast<std::byte>(guess.at(first + i));
    EXPECT_NE(crypto::KeyedHash(key)(message), *given) << first;
  }
}

TEST_F(SecretsTest, a_challenge_tells_neither_the_next_nor_an_id) {
  Host& client = network.add(1);
  Host& server = network.add(2);
  network.connect(client, server);
  std::vector<std::uint64_t> challenges;
  std::set<std::uint32_t> ids;
  network.on_leave = [&](Parcel& parcel) {
    const auto header = wire::read_short_header(parcel.bytes);
    if (!header) return true;
    ids.insert(header->connection_id);
    if (header->type != wire::PacketType::control) return true;
    std::vector<wire::Gap> gaps;
    wire::FrameReader reader(
        std::span(parcel.bytes).subspan(wire::kControlHeaderBytes + wire::kCrcBytes), gaps);
    while (const auto frame = reader.next())
      if (const auto* challenge = std::get_if<wire::PathChallenge>(&*frame))
        challenges.push_back(challenge->data);
    return true;
  };
  for (std::uint16_t port = 2000; port < 2006; ++port) {
    client.address = address(1, port);
    network.transfer(client, server, port, 100'000);
    network.run(seconds(3));
    EXPECT_EQ(server.status(port), Status::completed);
  }
  const std::set<std::uint64_t> all(challenges.begin(), challenges.end());
  ASSERT_GE(all.size(), 6u);
  for (const std::uint64_t challenge : challenges) {
    const SplitMix guess(challenge);
    for (int steps = 1; steps <= 200; ++steps) {
      EXPECT_EQ(all.count(guess.at(steps)), 0u);
      EXPECT_EQ(ids.count(static_cast<std::uint32_t>(guess.at(-steps))), 0u);
    }
  }
}

TEST_F(SecretsTest, other_entropy_gives_other_numbers_and_the_same_gives_the_same) {
  std::set<std::uint64_t> attempts;
  for (const std::uint64_t seed : {1u, 2u, 1u}) {
    Network line;
    Host& client = line.add(1, Network::config(), Network::environment(seed));
    line.on_leave = [&](Parcel& parcel) {
      attempts.insert(wire::peek_long(parcel.bytes)->attempt);
      return true;
    };
    client.endpoint.connect(line.now, {1, address(2), seconds(1)});
    line.run(milliseconds(100));
  }
  EXPECT_EQ(attempts.size(), 2u);
}

}  // namespace
}  // namespace longhaul::endpoint
