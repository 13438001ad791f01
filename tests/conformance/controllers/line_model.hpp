// SPDX-License-Identifier: Apache-2.0
// A line with a queue, in closed loop with a controller: enough network to make events that obey
// the contract of congestion.hpp at any rate, cheap because it moves flights of many packets.
#pragma once

#include <cstdint>
#include <deque>

#include "longhaul/congestion.hpp"

namespace longhaul::congestion {

struct LineConfig {
  BitsPerSecond rate = 1'000'000'000;
  Duration rtt = std::chrono::milliseconds(50);  ///< without queue
  std::uint64_t queue_bytes = 0;                 ///< 0 = one bandwidth-delay product
  std::uint64_t max_datagram = 1200;
  /// Lose one datagram of every so many bytes sent; 0 = never.
  std::uint64_t loss_interval_bytes = 0;
  /// Most bytes the application has to send per round; 0 = unlimited.
  std::uint64_t application_bytes_per_round = 0;
};

class LineModel {
 public:
  LineModel(Controller& controller, const LineConfig& config);

  /// Runs for `time`; calls `observe()` after each event.
  template <typename Observe>
  void run(Duration time, Observe observe) {
    const Timestamp end = now_ + time;
    while (now_ < end) {
      step();
      observe();
    }
  }
  void run(Duration time) {
    run(time, [] {});
  }

  Timestamp now() const { return now_; }
  std::uint64_t delivered_bytes() const { return delivered_; }
  std::uint64_t lost_bytes() const { return lost_; }
  std::uint64_t bytes_in_flight() const { return in_flight_; }
  /// Time of one step: part of a round trip, at least half a datagram on the line.
  Duration slice() const { return slice_; }
  std::uint64_t bandwidth_delay_product() const { return bdp_; }
  Duration smoothed_rtt() const { return smoothed_rtt_; }

 private:
  struct Flight {
    Timestamp sent_at;
    Timestamp reported_at;
    std::uint64_t bytes = 0;
    std::uint64_t lost_bytes = 0;
    std::uint64_t delivered_at_send = 0;
    bool application_limited = false;
  };

  void step();
  void report(const Flight& flight);
  void send();
  void put_on_line(std::uint64_t bytes, bool application_limited);
  std::uint64_t packets(std::uint64_t bytes) const;

  Controller& controller_;
  LineConfig config_;
  std::uint64_t bdp_;
  Duration slice_;
  Timestamp now_{};
  Timestamp line_free_at_{};
  std::deque<Flight> flights_;
  std::uint64_t in_flight_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t pacing_credit_ = 0;
  std::uint64_t until_loss_ = 0;
  std::uint64_t application_credit_ = 0;
  std::uint64_t next_packet_number_ = 0;
  Duration smoothed_rtt_{};
  Duration min_rtt_ = Duration::max();
};

}  // namespace longhaul::congestion
