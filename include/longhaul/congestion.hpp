// SPDX-License-Identifier: Apache-2.0
// Extension point, unstable until 1.0: what a congestion controller is told and may answer.
// A controller sees these records and nothing else. Words are RFC 9002's.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "longhaul/time.hpp"

namespace longhaul::congestion {

/// Bits per second of UDP payload, everything included.
using BitsPerSecond = std::uint64_t;

/// What a controller is made from.
struct ControllerConfig {
  std::uint64_t max_datagram = 1200;                      ///< bytes of UDP payload of a full packet
  BitsPerSecond configured_rate = 0;                      ///< operator's rate; 0 = none
  Duration initial_rtt = std::chrono::milliseconds(100);  ///< until a sample exists
  std::uint64_t window_max = 0;                           ///< bytes; 0 = unlimited
};

struct SentEvent {
  Timestamp now;
  std::uint64_t bytes = 0;            ///< of this packet, UDP payload
  std::uint64_t bytes_in_flight = 0;  ///< including this packet
  std::uint64_t packet_number = 0;    ///< in its packet-number space
};

/// One processed acknowledgement; sums over the packets it newly covered.
struct AckEvent {
  Timestamp now;
  Timestamp newest_acked_sent_at;  ///< send time of the newest packet newly acknowledged
  std::uint64_t acked_bytes = 0;   ///< newly acknowledged, UDP payload
  std::uint64_t acked_packets = 0;
  std::uint64_t bytes_in_flight = 0;    ///< after this acknowledgement
  std::uint64_t delivered_bytes = 0;    ///< total ever acknowledged on the path
  std::uint64_t delivered_at_send = 0;  ///< that total when the newest acked packet left
  Duration latest_rtt{};                ///< 0 when this acknowledgement gave no sample
  Duration min_rtt{};
  Duration smoothed_rtt{};
  std::uint64_t ce_packets = 0;  ///< newly reported ECN-CE marks
  bool application_limited =
      false;  ///< the newest acked packet left while there was no more to send
};

struct LossEvent {
  Timestamp now;
  Timestamp newest_lost_sent_at;
  std::uint64_t lost_bytes = 0;
  std::uint64_t lost_packets = 0;
  std::uint64_t bytes_in_flight = 0;   ///< after removing the lost packets
  bool persistent_congestion = false;  ///< RFC 9002 §7.6
};

/// One instance per path, used by one worker; integer arithmetic only, so that one seed gives one
/// trace on every compiler. Never allocates after construction.
class Controller {
 public:
  virtual ~Controller() = default;

  virtual void on_sent(const SentEvent& event) = 0;
  virtual void on_ack(const AckEvent& event) = 0;
  virtual void on_loss(const LossEvent& event) = 0;
  /// A packet declared lost turned out to have arrived; `sent_at` is its send time.
  virtual void on_spurious_loss(Timestamp now, Timestamp sent_at) = 0;
  virtual void on_max_datagram_changed(std::uint64_t max_datagram) = 0;

  /// Bytes of UDP payload that may be in flight.
  virtual std::uint64_t congestion_window() const = 0;
  /// Rate at which packets should leave.
  virtual BitsPerSecond pacing_rate() const = 0;
  /// Registry name: "fixed", "cubic" …
  virtual std::string_view name() const = 0;
};

using ControllerFactory = std::unique_ptr<Controller> (*)(const ControllerConfig&);

}  // namespace longhaul::congestion
