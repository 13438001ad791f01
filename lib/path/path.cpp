// SPDX-License-Identifier: Apache-2.0
#include "lib/path/path.hpp"

#include <algorithm>

#include "lib/base/assert.hpp"

namespace longhaul::path {
namespace {

// RFC 9002 §7.6.1
constexpr std::int64_t kPersistentCongestionThreshold = 3;
// A worker that shares its core is descheduled for a few milliseconds at a time; with less than
// this it would miss the operator's rate by a fifth.
constexpr Duration kCatchUp = std::chrono::milliseconds(4);

congestion::ControllerConfig controller_config(const PathConfig& config, Duration initial_rtt) {
  congestion::ControllerConfig result;
  result.max_datagram = config.mtu.base;
  result.configured_rate = config.rate_bps;
  result.initial_rtt = initial_rtt;
  return result;
}

}  // namespace

Path::Path(const PathConfig& config, Duration initial_rtt)
    : remote_(config.remote),
      serial_(config.serial),
      rtt_(initial_rtt),
      mtu_(config.mtu),
      controller_(config.make_controller(controller_config(config, initial_rtt))),
      pacer_(controller_->pacing_rate(), {.max_datagram = config.mtu.base, .catch_up = kCatchUp}),
      max_datagram_(mtu_.max_datagram()) {}

bool Path::has_window_for(std::uint64_t bytes) const noexcept {
  const std::uint64_t window = controller_->congestion_window();
  const std::uint64_t more = window_closed_ ? std::min(pacer_.burst_bytes(), window / 8) : 0;
  return bytes_in_flight_ + bytes + more <= window;
}

Duration Path::packet_time() const noexcept {
  const std::uint64_t rate = std::max<std::uint64_t>(controller_->pacing_rate(), 1000);
  return Duration{
      static_cast<std::int64_t>(std::uint64_t{mtu_.max_datagram()} * 8'000'000'000ULL / rate)};
}

void Path::on_data_sent(Timestamp now, Timestamp departure, std::uint64_t bytes,
                        std::uint64_t number) {
  pacer_.on_sent(departure, bytes);
  window_closed_ = false;
  bytes_in_flight_ += bytes;
  controller_->on_sent({now, bytes, bytes_in_flight_, number});
}

void Path::on_settled(Timestamp now, const Settlement& settlement, bool has_rtt_sample) {
  LONGHAUL_ASSERT(bytes_in_flight_ >= settlement.acked_bytes + settlement.lost_bytes);
  bytes_in_flight_ -= settlement.acked_bytes + settlement.lost_bytes;
  delivered_bytes_ += settlement.acked_bytes;
  if (settlement.acked_packets > 0 || settlement.ce > 0) {
    congestion::AckEvent event;
    event.now = now;
    event.newest_acked_sent_at = settlement.newest_acked_sent_at;
    event.acked_bytes = settlement.acked_bytes;
    event.acked_packets = settlement.acked_packets;
    event.bytes_in_flight = bytes_in_flight_;
    event.delivered_bytes = delivered_bytes_;
    event.delivered_at_send = settlement.delivered_at_send;
    event.latest_rtt = has_rtt_sample ? rtt_.latest() : Duration{};
    event.min_rtt = rtt_.min();
    event.smoothed_rtt = rtt_.smoothed();
    event.ce_packets = settlement.ce;
    event.application_limited = settlement.application_limited;
    controller_->on_ack(event);
  }
  if (settlement.lost_packets > 0) {
    congestion::LossEvent event;
    event.now = now;
    event.newest_lost_sent_at = settlement.newest_lost_sent_at;
    event.lost_bytes = settlement.lost_bytes;
    event.lost_packets = settlement.lost_packets;
    event.bytes_in_flight = bytes_in_flight_;
    event.persistent_congestion = settlement.acked_packets == 0 && rtt_.has_sample() &&
                                  settlement.newest_lost_sent_at - settlement.oldest_lost_sent_at >=
                                      kPersistentCongestionThreshold * rtt_.pto();
    controller_->on_loss(event);
  }
  refresh_rate();
}

void Path::on_spurious_loss(Timestamp now, Timestamp sent_at) {
  controller_->on_spurious_loss(now, sent_at);
  refresh_rate();
}

bool Path::on_mtu_changed() {
  const bool smaller = mtu_.max_datagram() < max_datagram_;
  max_datagram_ = mtu_.max_datagram();
  controller_->on_max_datagram_changed(mtu_.max_datagram());
  pacer_.set_max_datagram(mtu_.max_datagram());
  refresh_rate();
  return smaller;
}

void Path::refresh_rate() {
  pacer_.set_rate(controller_->pacing_rate());
}

}  // namespace longhaul::path
