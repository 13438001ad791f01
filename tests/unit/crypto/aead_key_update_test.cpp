// SPDX-License-Identifier: Apache-2.0
// Renewal of keys by AeadProtection, and its limits.
#include <gtest/gtest.h>

#include <deque>

#include "lib/crypto/aead_protection.hpp"
#include "tests/unit/crypto/aead_packets.hpp"

namespace longhaul::crypto {
namespace {

using std::chrono::milliseconds;
using test::Bytes;
using test::Choice;
using test::Content;
using test::opened;
using test::Packet;
using test::Pair;
using test::random_content;
using test::sealed;

constexpr Duration kRtt = milliseconds(10);
constexpr std::uint16_t kSpace = 3;

Timestamp at(int ms) {
  return Timestamp(milliseconds(ms));
}

/// One direction of a pair, whose keys are renewed after four packets.
class Direction {
 public:
  explicit Direction(const AeadLimits& limits = {.packets_per_key = 4})
      : pair_({"", PacketCipher::aes_128_gcm, AeadEngine::fastest}, limits) {}
  AeadProtection& sender() { return pair_.end(true); }
  AeadProtection& receiver() { return pair_.end(false); }
  Packet send() {
    return sealed(sender(), {wire::PacketType::control, Bytes(30, std::byte{1}), {}}, kSpace,
                  number_++);
  }
  bool arrive(Packet packet) { return opened(receiver(), packet); }
  void send_and_arrive(int count) {
    for (int i = 0; i < count; ++i) EXPECT_TRUE(arrive(send()));
  }
  /// A key's life: as many packets as it takes, all arriving, and the ACK of the last.
  void live(int now_ms) {
    send_and_arrive(4);
    sender().on_acked(at(now_ms), sender().key_phase(), kRtt);
  }

 private:
  Pair pair_;
  std::uint64_t number_ = 0;
};

/// A packet as if it were of a phase that is `ahead` of its own.
Packet with_phase(Packet packet, unsigned ahead) {
  const auto first = std::to_integer<unsigned>(packet.bytes[0]);
  packet.bytes[0] = static_cast<std::byte>((first & ~0x0cu) | ((first + ahead * 4) & 0x0cu));
  return packet;
}

TEST(AeadKeyUpdate, waits_for_the_limit_an_ack_and_a_round_trip) {
  Direction way;
  EXPECT_EQ(way.sender().key_phase(), 0);
  way.send_and_arrive(3);
  way.sender().on_acked(at(100), 0, kRtt);
  EXPECT_EQ(way.sender().key_phase(), 0) << "three packets of four";
  way.send_and_arrive(1);
  way.sender().on_acked(at(101), 0, kRtt);
  EXPECT_EQ(way.sender().key_phase(), 1);
  EXPECT_EQ(way.sender().key_updates(), 1u);

  way.send_and_arrive(4);
  EXPECT_EQ(way.receiver().key_updates(), 1u);
  way.sender().on_acked(at(200), 0, kRtt);
  EXPECT_EQ(way.sender().key_phase(), 1) << "an ACK of the old phase says nothing of the new one";
  way.sender().on_acked(at(101) + kRtt - Duration(1), 1, kRtt);
  EXPECT_EQ(way.sender().key_phase(), 1) << "not twice a round trip";
  way.sender().on_acked(at(101) + kRtt, 0, kRtt);
  EXPECT_EQ(way.sender().key_phase(), 2) << "the ACK of before still counts";
}

TEST(AeadKeyUpdate, counts_on_modulo_four_for_ever) {
  Direction way;
  for (int i = 0; i < 23; ++i) {
    EXPECT_EQ(way.sender().key_phase(), i % 4);
    way.live(1000 * i);
  }
  EXPECT_EQ(way.sender().key_updates(), 23u);
  EXPECT_EQ(way.receiver().key_updates(), 22u) << "nothing came of the newest yet";
}

TEST(AeadKeyUpdate, opens_late_packets_of_the_previous_phase_only) {
  Direction way;
  const Packet oldest = way.send();
  const Packet oldest_too = way.send();
  way.send_and_arrive(4);
  way.sender().on_acked(at(0), 0, kRtt);
  const Packet old = way.send();
  way.send_and_arrive(4);
  EXPECT_TRUE(way.arrive(oldest)) << "of the previous phase";
  way.sender().on_acked(at(1000), 1, kRtt);
  EXPECT_TRUE(way.arrive(old));
  EXPECT_TRUE(way.arrive(oldest_too)) << "nothing came of the third phase yet";
  way.send_and_arrive(1);
  EXPECT_TRUE(way.arrive(old)) << "now previous";
  EXPECT_FALSE(way.arrive(oldest_too)) << "its key is gone";
  EXPECT_EQ(way.receiver().key_updates(), 2u);
}

TEST(AeadKeyUpdate, is_not_caused_by_forgeries) {
  Direction way({.packets_per_key = 4, .forgeries_max = 10});
  const Packet packet = way.send();
  EXPECT_FALSE(way.arrive(with_phase(packet, 1))) << "a forged first packet of the next phase";
  EXPECT_FALSE(way.arrive(with_phase(packet, 2)));
  EXPECT_FALSE(way.arrive(with_phase(packet, 3))) << "there is no phase before the first";
  EXPECT_EQ(way.receiver().key_updates(), 0u);
  EXPECT_TRUE(way.arrive(packet));
  for (int i = 0; i < 8; ++i) EXPECT_FALSE(way.arrive(with_phase(packet, 1)));
  EXPECT_FALSE(way.receiver().exhausted());
  EXPECT_FALSE(way.arrive(with_phase(packet, 1)));
  EXPECT_TRUE(way.receiver().exhausted()) << "ten tags were wrong";
}

TEST(AeadKeyUpdate, happens_in_the_middle_of_a_burst) {
  Direction way;
  std::vector<Packet> packets;
  for (int i = 0; i < 4; ++i) packets.push_back(way.send());
  way.sender().on_acked(at(0), 0, kRtt);
  for (int i = 0; i < 4; ++i) packets.push_back(way.send());
  const Packet forged = with_phase(packets[7], 1);
  // old, new, old, forged, new, …
  std::vector<Packet> burst = {packets[0], packets[4], packets[1], forged,
                               packets[5], packets[6], packets[2], packets[7]};
  std::vector<base::RxDatagram> datagrams(burst.size());
  std::vector<OpenJob> jobs;
  for (std::size_t i = 0; i < burst.size(); ++i) {
    datagrams[i].data = burst[i].bytes;
    jobs.push_back({&datagrams[i], burst[i].header_bytes, kSpace, burst[i].number, false});
  }
  way.receiver().open(jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) EXPECT_EQ(jobs[i].ok, i != 3) << i;
}

TEST(AeadKeyUpdate, without_acks_the_key_runs_out) {
  Direction way;
  for (int i = 0; i < 7; ++i) way.send();
  EXPECT_FALSE(way.sender().exhausted());
  way.send();
  EXPECT_TRUE(way.sender().exhausted());
  EXPECT_FALSE(way.receiver().exhausted());
}

TEST(AeadKeyUpdate, what_cannot_be_a_packet_is_no_forgery) {
  Direction way({.packets_per_key = 4, .forgeries_max = 1});
  Packet packet = way.send();
  Packet copy = packet;
  EXPECT_FALSE(opened(way.receiver(), copy, true)) << "damaged";
  copy.bytes.resize(copy.header_bytes + Aead::kTagBytes - 1);
  EXPECT_FALSE(opened(way.receiver(), copy));
  EXPECT_FALSE(way.receiver().exhausted());
  packet.bytes.back() ^= std::byte{1};
  EXPECT_FALSE(way.arrive(packet));
  EXPECT_TRUE(way.receiver().exhausted());
}

/// What one end has sent and the other not got yet; takes from among the oldest `reach`.
class Reorderer {
 public:
  void put(Packet packet) { waiting_.push_back(std::move(packet)); }
  bool deep(std::size_t reach) const { return waiting_.size() >= reach; }
  Packet take(base::Random& random, std::size_t reach) {
    // The oldest goes at the latest when as many as `reach` were taken after it.
    const std::size_t index =
        skipped_ >= reach ? 0 : random.below(std::min(reach, waiting_.size()));
    skipped_ = index == 0 ? 0 : skipped_ + 1;
    Packet packet = std::move(waiting_[index]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
    return packet;
  }

 private:
  std::deque<Packet> waiting_;
  std::size_t skipped_ = 0;
};

TEST(AeadKeyUpdate, both_directions_renew_at_once_while_packets_are_reordered) {
  constexpr std::size_t kReach = 12;
  for (const Choice& choice : test::kChoices) {
    if (make_aead(choice.cipher, choice.engine) == nullptr) continue;
    Pair pair(choice, {.packets_per_key = 60});
    base::Random random(7);
    Reorderer ways[2];
    std::uint64_t numbers[2] = {0, 0};
    for (int step = 0; step < 6000; ++step) {
      const bool from_client = random.chance(0.5);
      Reorderer& way = ways[from_client ? 1 : 0];
      const Content content = random_content(
          random, {wire::PacketType::digest, 8 * random.below(5), random.below(200)});
      way.put(sealed(pair.end(from_client), content, kSpace, numbers[from_client ? 1 : 0]++));
      if (!way.deep(kReach)) continue;
      Packet packet = way.take(random, kReach);
      const auto phase = static_cast<std::uint8_t>(std::to_integer<int>(packet.bytes[0]) >> 2 & 3);
      ASSERT_TRUE(opened(pair.end(!from_client), packet)) << step;
      if (random.chance(0.2)) pair.end(from_client).on_acked(at(step), phase, kRtt);
    }
    EXPECT_GT(pair.end(true).key_updates(), 60u);
    EXPECT_GT(pair.end(false).key_updates(), 60u);
    EXPECT_FALSE(pair.end(true).exhausted());
    EXPECT_FALSE(pair.end(false).exhausted());
  }
}

}  // namespace
}  // namespace longhaul::crypto
