// SPDX-License-Identifier: Apache-2.0
// Both halves of a space over a line that loses, delays, reorders and duplicates in either
// direction, against the plainest model: every packet ends acknowledged or lost exactly once.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "lib/base/random.hpp"
#include "lib/recovery/receive_space.hpp"
#include "lib/recovery/send_space.hpp"

namespace longhaul::recovery {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

struct Report {
  wire::Ack ack;
  std::vector<wire::Gap> gaps;
};

enum class Fate : std::uint8_t { open, acked, lost };

class Line {
 public:
  Line(std::uint64_t seed, double loss, Duration jitter)
      : random_(seed), loss_(loss), jitter_(jitter) {}

  void run(int packets) {
    int idle = 0;
    for (int sent = 0; idle < 4000; now_ += kPacketTime) {
      const bool more = sent < packets;
      if (more || idle % 16 == 0) send(more);  // afterwards: markers
      if (more) ++sent;
      if (!more) ++idle;
      deliver();
      if (random_.below(40) == 0) move_floor();
      if (!more && space_.in_flight_packets() == 0) break;
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  void expect_every_packet_settled_once() {
    EXPECT_EQ(space_.in_flight_packets(), 0u);
    for (std::size_t i = 0; i < fates_.size(); ++i)
      if (counts_[i]) {
        ASSERT_NE(fates_[i], Fate::open) << "packet " << i;
      }
  }
  double spurious_share() const {
    return static_cast<double>(spurious_) / static_cast<double>(fates_.size());
  }
  std::size_t lost() const { return lost_; }

 private:
  static constexpr Duration kPacketTime = microseconds(10);
  static constexpr Duration kDelay = milliseconds(1);

  bool drops() { return random_.chance(loss_); }
  Timestamp arrival() {
    const auto extra = jitter_.count() == 0 ? Duration{}
                                            : Duration{static_cast<std::int64_t>(random_.below(
                                                  static_cast<std::uint64_t>(jitter_.count())))};
    return now_ + kDelay + extra;
  }

  void send(bool data) {
    SentPacket packet;
    packet.sent_at = now_;
    packet.outstanding = true;
    packet.in_flight = data;
    packet.size = 1000;
    const std::uint64_t number = space_.next_number();
    space_.on_sent(packet);
    fates_.push_back(Fate::open);
    counts_.push_back(data);
    if (!drops()) to_receiver_.insert({arrival(), number});
    if (random_.below(50) == 0) to_receiver_.insert({arrival(), number});
  }

  void deliver() {
    while (!to_receiver_.empty() && to_receiver_.begin()->first <= now_) {
      const std::uint64_t number = to_receiver_.begin()->second;
      to_receiver_.erase(to_receiver_.begin());
      if (receiver_.is_new(number))
        receiver_.on_received(now_, {number, 1000, {}, true, false}, {});
    }
    if (receiver_.ack_due() <= now_) {
      Report report;
      receiver_.begin_ack(now_, report.ack);
      receiver_.end_ack(now_);
      report.gaps.assign(report.ack.gaps.begin(), report.ack.gaps.end());
      if (!drops()) to_sender_.insert({arrival(), report});
    }
    while (!to_sender_.empty() && to_sender_.begin()->first <= now_) {
      Report report = to_sender_.begin()->second;
      to_sender_.erase(to_sender_.begin());
      report.ack.gaps = report.gaps;
      settle(space_.on_ack(now_, report.ack, kPacketTime, 2 * kDelay));
    }
  }

  void settle(const AckOutcome& outcome) {
    ASSERT_TRUE(outcome.valid);
    for (const Settled& each : outcome.acked) {
      ASSERT_EQ(fates_[each.number], Fate::open);
      fates_[each.number] = Fate::acked;
    }
    for (const Settled& each : outcome.lost) {
      ASSERT_EQ(fates_[each.number], Fate::open);
      fates_[each.number] = Fate::lost;
      ++lost_;
    }
    for (const Settled& each : outcome.spurious) {
      ASSERT_EQ(fates_[each.number], Fate::lost);
      ++spurious_;
    }
  }

  void move_floor() {
    const std::uint64_t floor = space_.confirmed_floor(now_, 2 * kDelay);
    for (std::uint64_t number = floor_; number < floor; ++number)
      ASSERT_NE(fates_[number], Fate::open) << "the floor rose above packet " << number;
    floor_ = std::max(floor_, floor);
    if (!drops()) receiver_.set_floor(floor);
  }

  base::Random random_;
  double loss_;
  Duration jitter_;
  Timestamp now_ = Timestamp{} + std::chrono::seconds(1);
  SendSpace space_;
  ReceiveSpace receiver_;
  std::multimap<Timestamp, std::uint64_t> to_receiver_;
  std::multimap<Timestamp, Report> to_sender_;
  std::vector<Fate> fates_;
  std::vector<bool> counts_;
  std::uint64_t floor_ = 0;
  std::size_t lost_ = 0;
  std::size_t spurious_ = 0;
};

TEST(send_space_property, every_packet_ends_acknowledged_or_lost_exactly_once) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    base::Random choice(seed);
    Line line(seed, 0.02 * static_cast<double>(choice.below(20)),
              microseconds(choice.below(3) * 150));
    line.run(3000);
    line.expect_every_packet_settled_once();
    if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

TEST(send_space_property, an_ordered_line_never_loses_spuriously) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Line line(seed, 0.05, {});
    line.run(3000);
    line.expect_every_packet_settled_once();
    EXPECT_EQ(line.spurious_share(), 0) << "seed " << seed;
    EXPECT_GT(line.lost(), 50u);
  }
}

TEST(send_space_property, reordering_is_learned_so_that_hardly_a_loss_is_spurious) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Line line(seed, 0.01, microseconds(500));  // fifty packets out of order
    line.run(20'000);
    line.expect_every_packet_settled_once();
    EXPECT_LT(line.spurious_share(), 0.02) << "seed " << seed;
  }
}

}  // namespace
}  // namespace longhaul::recovery
