// SPDX-License-Identifier: Apache-2.0
// Senders that leave gaps and raise no floor; and honest ones on lines that lose a lot.
#include <gtest/gtest.h>

#include <set>

#include "lib/base/random.hpp"
#include "lib/recovery/receive_space.hpp"
#include "lib/recovery/send_space.hpp"

namespace longhaul::recovery {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr AckTiming kTiming{microseconds(500), microseconds(50), microseconds(50), 10,
                            milliseconds(5)};

struct ReceiveSpaceBounds : testing::Test {
  static constexpr std::size_t kRuns = 1000;
  ReceiveSpace space{kRuns};
  Timestamp now = Timestamp{} + seconds(1);
  std::size_t in = 0;
  std::size_t out = 0;
  std::size_t longest = 0;
  std::vector<std::byte> packet = std::vector<std::byte>(1400);
  wire::Ack ack;

  void arrive(std::uint64_t number, std::size_t size) {
    in += size;
    if (space.is_new(number))
      space.on_received(now, {number, size, base::Ecn::not_ect, true, false}, kTiming);
  }
  /// What a report is on the wire, in as many packets as it takes.
  void report() {
    ack = {};
    space.begin_ack(now, ack);
    longest = std::max(longest, ack.gaps.size());
    wire::Ack rest = ack;
    for (std::uint64_t covered = 0; covered < ack.largest;) {
      const std::size_t size = wire::write_ack_prefix(rest, packet, covered);
      ASSERT_GT(size, 0u);
      out += size;
      space.spend(size);
      while (!rest.gaps.empty() && rest.gaps[0].first <= covered) rest.gaps = rest.gaps.subspan(1);
      rest.floor = covered + 1;
    }
    space.end_ack(now);
  }
  void report_if_due() {
    if (space.ack_due() <= now) report();
  }
};

TEST_F(ReceiveSpaceBounds, every_second_number_is_answered_with_less_than_a_named_multiple) {
  constexpr std::size_t kFactor = 3;
  for (std::uint64_t i = 0; i < 1'000'000; ++i, now += microseconds(20)) {
    arrive(2 * i, 18);
    report_if_due();
    if (HasFatalFailure()) return;
  }
  EXPECT_LT(out, kFactor * in);
  EXPECT_GT(out, in / 10);
  EXPECT_LE(longest, kRuns);
}

TEST_F(ReceiveSpaceBounds, gaps_that_take_more_bytes_earn_no_longer_answers) {
  for (std::uint64_t i = 0; i < 300'000; ++i, now += microseconds(20)) {
    arrive(2'000'000 * i, 18);
    report_if_due();
    if (HasFatalFailure()) return;
  }
  EXPECT_LT(out, 3 * in);
}

TEST_F(ReceiveSpaceBounds, of_more_runs_than_the_bound_the_oldest_are_a_gap) {
  const std::uint64_t last = 2 * (3 * kRuns);
  for (std::uint64_t number = 0; number <= last; number += 2, now += microseconds(20))
    arrive(number, 1200);
  for (int i = 0; i < 8; ++i, now += milliseconds(10)) report();
  ASSERT_EQ(ack.floor, 0u) << "a full report";
  EXPECT_EQ(ack.gaps.front().first, 0u);
  EXPECT_LE(ack.gaps.size(), kRuns);
  EXPECT_GE(ack.gaps.size(), kRuns * 7 / 8 - 1);
  const std::uint64_t known_from = ack.gaps.front().length;
  EXPECT_FALSE(space.is_new(known_from - 1)) << "nobody knows, so it is taken no more";
  EXPECT_FALSE(space.is_new(known_from - 2));
  EXPECT_FALSE(space.is_new(known_from));
  EXPECT_TRUE(space.is_new(known_from + 1));
  arrive(known_from + 1, 1200);
  space.set_floor(last);
  report();
  EXPECT_EQ(ack.floor, last);
  EXPECT_TRUE(ack.gaps.empty());
}

TEST_F(ReceiveSpaceBounds, a_long_list_is_told_once_in_its_spacing) {
  int lists = 0;
  const Timestamp begin = now;
  for (std::uint64_t i = 0; i < 20'000; ++i, now += microseconds(50)) {
    arrive(2 * i, 1400);
    if (space.ack_due() > now) continue;
    report();
    lists += ack.gaps.size() > 512 ? 1 : 0;
  }
  EXPECT_LE(lists, (now - begin) / kTiming.list_spacing_min + 1);
  EXPECT_GE(lists, (now - begin) / kTiming.list_spacing_min / 4);
}

TEST_F(ReceiveSpaceBounds, who_has_used_up_the_credit_gets_the_list_while_it_probes) {
  for (std::uint64_t i = 0; i < 200'000; ++i, now += microseconds(20)) {
    arrive(2 * i, 18);
    report_if_due();
  }
  std::uint64_t number = 400'001;
  bool all = false;
  for (int probes = 0; probes < 40 && !all; ++probes, ++number) {
    now += milliseconds(100);
    arrive(number, 18);
    report();
    all = ack.floor == 0;
  }
  EXPECT_TRUE(all);
}

/// Sender and receiver over a line that loses packets and reports.
struct Line {
  explicit Line(std::uint64_t seed, std::size_t runs_max) : random(seed), receiver(runs_max) {}
  static constexpr Duration kRtt = milliseconds(20);
  base::Random random;
  SendSpace sender;
  ReceiveSpace receiver;
  Timestamp now = Timestamp{} + seconds(1);
  std::set<std::uint64_t> arrived;
  std::size_t acknowledged = 0;
  std::size_t lost = 0;

  void send(double loss) {
    const std::uint64_t number = sender.next_number();
    SentPacket packet;
    packet.sent_at = now;
    packet.size = 1200;
    packet.outstanding = packet.in_flight = true;
    sender.on_sent(packet);
    if (random.chance(loss) || !receiver.is_new(number)) return;
    arrived.insert(number);
    receiver.on_received(now, {number, 1200, {}, true, false}, kTiming);
  }
  void report(double loss) {
    wire::Ack ack;
    receiver.begin_ack(now, ack);
    receiver.end_ack(now);
    receiver.spend(40 + 3 * ack.gaps.size());
    if (random.chance(loss)) return;
    const AckOutcome outcome = sender.on_ack(now, ack, microseconds(20), kRtt);
    ASSERT_TRUE(outcome.valid);
    for (const Settled& settled : outcome.acked) ASSERT_TRUE(arrived.contains(settled.number));
    acknowledged += outcome.acked.size();
    lost += outcome.lost.size();
    if (!random.chance(loss)) receiver.set_floor(sender.confirmed_floor(now, kRtt));
  }
};

void expect_everything_settled(double loss, std::size_t runs_max, double least_acknowledged) {
  Line line(1, runs_max);
  constexpr std::size_t kPackets = 50'000;
  for (std::size_t i = 0; i < kPackets; ++i) {
    line.now += microseconds(20);
    line.send(loss);
    if (line.receiver.ack_due() <= line.now) line.report(loss);
    if (testing::Test::HasFatalFailure()) return;
  }
  // Probes, as a sender makes them that waits for its window.
  for (int i = 0; i < 400 && line.sender.in_flight_packets() > 40; ++i) {
    line.now += milliseconds(20);
    line.send(0);
    line.report(loss);
  }
  EXPECT_LE(line.sender.in_flight_packets(), 40u) << "the others' fate is known";
  EXPECT_GE(static_cast<double>(line.acknowledged),
            least_acknowledged * static_cast<double>(line.arrived.size()));
}

TEST(ReceiveSpaceHonest, heavy_loss_within_the_bound_costs_no_packet_twice) {
  for (const double loss : {0.02, 0.1, 0.3, 0.5})
    expect_everything_settled(loss, ReceiveSpace::kRunsMin, 0.999);
}

TEST(ReceiveSpaceHonest, beyond_the_bound_every_fate_is_still_known) {
  for (const double loss : {0.1, 0.3, 0.5}) expect_everything_settled(loss, 64, 0.8);
}

}  // namespace
}  // namespace longhaul::recovery
