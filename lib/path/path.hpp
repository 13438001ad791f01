// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "congestion/pacer.hpp"
#include "lib/path/mtu_discovery.hpp"
#include "lib/recovery/rtt_estimator.hpp"
#include "longhaul/address.hpp"
#include "longhaul/congestion.hpp"
#include "longhaul/time.hpp"

namespace longhaul::path {

struct PathConfig {
  SocketAddress remote;
  std::uint16_t serial = 0;
  congestion::ControllerFactory make_controller = nullptr;
  std::uint64_t rate_bps = 0;
  MtuConfig mtu{};
};

/// One way to the peer: address, round-trip time, rate, PLPMTU.
class Path {
 public:
  Path(const PathConfig& config, Duration initial_rtt);

  const SocketAddress& remote() const noexcept { return remote_; }
  void set_remote(const SocketAddress& remote) noexcept { remote_ = remote; }
  std::uint16_t serial() const noexcept { return serial_; }

  recovery::RttEstimator& rtt() noexcept { return rtt_; }
  const recovery::RttEstimator& rtt() const noexcept { return rtt_; }
  MtuDiscovery& mtu() noexcept { return mtu_; }
  const MtuDiscovery& mtu() const noexcept { return mtu_; }
  congestion::Pacer& pacer() noexcept { return pacer_; }
  const congestion::Pacer& pacer() const noexcept { return pacer_; }
  const congestion::Controller& controller() const noexcept { return *controller_; }

  std::uint64_t bytes_in_flight() const noexcept { return bytes_in_flight_; }
  std::uint64_t delivered_bytes() const noexcept { return delivered_bytes_; }
  /// Room of the congestion window for one more packet of `bytes`. Once there was none, only when a
  /// burst (or an eighth of a small window) has become free: an ACK at a time would be a packet at
  /// a time for ever.
  bool has_window_for(std::uint64_t bytes) const noexcept;
  void on_window_closed() noexcept { window_closed_ = true; }
  /// Time of one full packet at the present pacing rate.
  Duration packet_time() const noexcept;

  /// A packet that counts for congestion control leaves at `departure`.
  void on_data_sent(Timestamp now, Timestamp departure, std::uint64_t bytes, std::uint64_t number);
  /// What one acknowledgement settled; sums over in-flight packets.
  struct Settlement {
    std::uint64_t acked_bytes = 0;
    std::uint64_t acked_packets = 0;
    Timestamp newest_acked_sent_at{};
    std::uint64_t delivered_at_send = 0;
    bool application_limited = false;
    std::uint64_t lost_bytes = 0;
    std::uint64_t lost_packets = 0;
    Timestamp oldest_lost_sent_at = kNever;
    Timestamp newest_lost_sent_at{};
    std::uint64_t ce = 0;
  };
  void on_settled(Timestamp now, const Settlement& settlement, bool has_rtt_sample);
  void on_spurious_loss(Timestamp now, Timestamp sent_at);
  /// True if the path now carries less than before.
  bool on_mtu_changed();

 private:
  void refresh_rate();

  SocketAddress remote_;
  std::uint16_t serial_;
  recovery::RttEstimator rtt_;
  MtuDiscovery mtu_;
  std::unique_ptr<congestion::Controller> controller_;
  congestion::Pacer pacer_;
  std::uint32_t max_datagram_;
  std::uint64_t bytes_in_flight_ = 0;
  std::uint64_t delivered_bytes_ = 0;
  bool window_closed_ = false;
};

}  // namespace longhaul::path
