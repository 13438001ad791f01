// SPDX-License-Identifier: Apache-2.0
#include "lib/path/path.hpp"

#include <gtest/gtest.h>

namespace longhaul::path {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration kRtt = milliseconds(10);

// What a controller was told, and what it says.
struct Record {
  std::vector<congestion::SentEvent> sent;
  std::vector<congestion::AckEvent> acks;
  std::vector<congestion::LossEvent> losses;
  std::vector<Timestamp> spurious;
  std::uint64_t max_datagram = 0;
  std::uint64_t window = 10'000;
  std::uint64_t rate = 8'000'000;  // a byte a microsecond
};

class Recorder final : public congestion::Controller {
 public:
  static inline Record* record = nullptr;
  void on_sent(const congestion::SentEvent& event) override { record->sent.push_back(event); }
  void on_ack(const congestion::AckEvent& event) override { record->acks.push_back(event); }
  void on_loss(const congestion::LossEvent& event) override { record->losses.push_back(event); }
  void on_spurious_loss(Timestamp, Timestamp at) override { record->spurious.push_back(at); }
  void on_max_datagram_changed(std::uint64_t bytes) override { record->max_datagram = bytes; }
  std::uint64_t congestion_window() const override { return record->window; }
  congestion::BitsPerSecond pacing_rate() const override { return record->rate; }
  std::string_view name() const override { return "recorder"; }
};

struct PathTest : testing::Test {
  Record record;
  Timestamp now = Timestamp{} + std::chrono::seconds(1);
  std::optional<Path> path;

  void SetUp() override {
    Recorder::record = &record;
    PathConfig config;
    config.make_controller =
        [](const congestion::ControllerConfig&) -> std::unique_ptr<congestion::Controller> {
      return std::make_unique<Recorder>();
    };
    path.emplace(config, milliseconds(100));
  }
  void send(int count) {
    for (int i = 0; i < count; ++i) path->on_data_sent(now, now, 1000, 0);
  }
  void sample(Duration rtt) { path->rtt().on_sample(rtt, {}); }
};

TEST_F(PathTest, the_window_has_room_up_to_its_last_byte) {
  send(8);
  EXPECT_EQ(path->bytes_in_flight(), 8000u);
  EXPECT_TRUE(path->has_window_for(2000));
  EXPECT_FALSE(path->has_window_for(2001));
  EXPECT_EQ(record.sent.back().bytes_in_flight, 8000u);
}

TEST_F(PathTest, a_window_that_was_closed_opens_for_a_burst_or_an_eighth) {
  send(10);
  path->on_window_closed();
  path->on_settled(now, {.acked_bytes = 1000, .acked_packets = 1}, false);
  EXPECT_FALSE(path->has_window_for(1000));  // an eighth of 10,000 is not free beside it
  path->on_settled(now, {.acked_bytes = 2000, .acked_packets = 2}, false);
  EXPECT_TRUE(path->has_window_for(1000));
  send(1);
  EXPECT_TRUE(path->has_window_for(2000));  // open again, up to its last byte
}

TEST_F(PathTest, what_is_acknowledged_or_lost_leaves_the_flight_and_only_the_first_was_delivered) {
  send(5);
  path->on_settled(
      now, {.acked_bytes = 2000, .acked_packets = 2, .lost_bytes = 1000, .lost_packets = 1}, false);
  EXPECT_EQ(path->bytes_in_flight(), 2000u);
  EXPECT_EQ(path->delivered_bytes(), 2000u);
  ASSERT_EQ(record.acks.size(), 1u);
  EXPECT_EQ(record.acks[0].bytes_in_flight, 2000u);
  EXPECT_EQ(record.acks[0].delivered_bytes, 2000u);
  ASSERT_EQ(record.losses.size(), 1u);
  EXPECT_EQ(record.losses[0].lost_packets, 1u);
}

TEST_F(PathTest, an_acknowledgement_that_settles_nothing_is_not_told_but_a_mark_is) {
  path->on_settled(now, {}, true);
  EXPECT_TRUE(record.acks.empty());
  EXPECT_TRUE(record.losses.empty());
  path->on_settled(now, {.ce = 3}, false);
  ASSERT_EQ(record.acks.size(), 1u);
  EXPECT_EQ(record.acks[0].ce_packets, 3u);
}

TEST_F(PathTest, only_a_sample_makes_a_latest_rtt) {
  sample(kRtt);
  send(2);
  path->on_settled(now, {.acked_bytes = 1000, .acked_packets = 1}, false);
  path->on_settled(now, {.acked_bytes = 1000, .acked_packets = 1}, true);
  EXPECT_EQ(record.acks[0].latest_rtt, Duration{});
  EXPECT_EQ(record.acks[1].latest_rtt, kRtt);
  EXPECT_EQ(record.acks[1].min_rtt, kRtt);
}

TEST_F(PathTest, losses_that_span_three_timeouts_without_an_arrival_are_persistent_congestion) {
  sample(kRtt);
  send(3);
  Path::Settlement losses;
  losses.lost_bytes = 1000;
  losses.lost_packets = 1;
  losses.oldest_lost_sent_at = now;
  losses.newest_lost_sent_at = now + 3 * path->rtt().pto() - microseconds(1);
  path->on_settled(now, losses, false);
  losses.newest_lost_sent_at += microseconds(1);
  path->on_settled(now, losses, false);
  losses.acked_bytes = 0;
  losses.acked_packets = 1;
  path->on_settled(now, losses, false);
  ASSERT_EQ(record.losses.size(), 3u);
  EXPECT_FALSE(record.losses[0].persistent_congestion);
  EXPECT_TRUE(record.losses[1].persistent_congestion);
  EXPECT_FALSE(record.losses[2].persistent_congestion);
}

TEST_F(PathTest, a_packet_time_is_a_full_packet_at_the_present_rate) {
  EXPECT_EQ(path->packet_time(), microseconds(path->mtu().max_datagram()));
  record.rate = 80'000'000;
  EXPECT_EQ(path->packet_time(), Duration(microseconds(path->mtu().max_datagram())) / 10);
  record.rate = 0;
  EXPECT_GT(path->packet_time().count(), 0);
}

TEST_F(PathTest, the_pacer_follows_the_controllers_rate) {
  EXPECT_EQ(path->pacer().rate(), 8'000'000u);
  record.rate = 16'000'000;
  send(1);
  path->on_settled(now, {.acked_bytes = 1000, .acked_packets = 1}, false);
  EXPECT_EQ(path->pacer().rate(), 16'000'000u);
  record.rate = 4'000'000;
  path->on_spurious_loss(now, now);
  EXPECT_EQ(record.spurious, std::vector<Timestamp>{now});
  EXPECT_EQ(path->pacer().rate(), 4'000'000u);
}

TEST_F(PathTest, a_larger_mtu_is_told_to_the_controller_and_is_no_loss) {
  const auto size = path->mtu().probe_due(now);
  ASSERT_TRUE(size.has_value());
  path->mtu().on_probe_sent(now, *size, kRtt);
  path->mtu().on_probe_acked(now, *size);
  ASSERT_TRUE(path->mtu().take_changed());
  EXPECT_FALSE(path->on_mtu_changed());
  EXPECT_EQ(record.max_datagram, *size);
}

}  // namespace
}  // namespace longhaul::path
