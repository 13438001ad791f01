// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/controllers/line_model.hpp"

#include <algorithm>

#include "congestion/arithmetic.hpp"

namespace longhaul::congestion {
namespace {

constexpr int kSlicesPerRound = 32;

Duration time_on_line(std::uint64_t bytes, BitsPerSecond rate) {
  return Duration(static_cast<std::int64_t>(multiply_divide(bytes, 8'000'000'000, rate)));
}

}  // namespace

LineModel::LineModel(Controller& controller, const LineConfig& config)
    : controller_(controller),
      config_(config),
      bdp_(bytes_in(config.rate, config.rtt)),
      slice_(std::max({config.rtt / kSlicesPerRound,
                       time_on_line(config.max_datagram, config.rate) / 2, Duration(1)})),
      pacing_credit_(2 * config.max_datagram),
      until_loss_(config.loss_interval_bytes) {
  if (config_.queue_bytes == 0) {
    config_.queue_bytes = std::max(bdp_, 8 * config_.max_datagram);
  }
}

void LineModel::step() {
  now_ += slice_;
  while (!flights_.empty() && flights_.front().reported_at <= now_) {
    const Flight flight = flights_.front();
    flights_.pop_front();
    report(flight);
  }
  send();
}

void LineModel::report(const Flight& flight) {
  const std::uint64_t acked = flight.bytes - flight.lost_bytes;
  in_flight_ -= flight.bytes;
  delivered_ += acked;
  lost_ += flight.lost_bytes;
  if (flight.lost_bytes > 0) {
    controller_.on_loss({.now = now_,
                         .newest_lost_sent_at = flight.sent_at,
                         .lost_bytes = flight.lost_bytes,
                         .lost_packets = packets(flight.lost_bytes),
                         .bytes_in_flight = in_flight_ + acked});
  }
  if (acked == 0) return;
  const Duration sample = flight.reported_at - flight.sent_at;
  min_rtt_ = std::min(min_rtt_, sample);
  smoothed_rtt_ = smoothed_rtt_ == Duration::zero() ? sample : (smoothed_rtt_ * 7 + sample) / 8;
  controller_.on_ack({.now = now_,
                      .newest_acked_sent_at = flight.sent_at,
                      .acked_bytes = acked,
                      .acked_packets = packets(acked),
                      .bytes_in_flight = in_flight_,
                      .delivered_bytes = delivered_,
                      .delivered_at_send = flight.delivered_at_send,
                      .latest_rtt = sample,
                      .min_rtt = min_rtt_,
                      .smoothed_rtt = smoothed_rtt_,
                      .application_limited = flight.application_limited});
}

void LineModel::send() {
  const std::uint64_t datagram = config_.max_datagram;
  const std::uint64_t paced = bytes_in(controller_.pacing_rate(), slice_);
  // At slow rates a slice carries less than a datagram; what is saved is one slice and a datagram.
  pacing_credit_ = std::min(pacing_credit_ + paced, paced + 2 * datagram);
  const std::uint64_t window = controller_.congestion_window();
  std::uint64_t allowed = window > in_flight_ ? window - in_flight_ : 0;
  allowed = std::min(allowed, pacing_credit_);
  bool application_limited = false;
  if (config_.application_bytes_per_round > 0) {
    const std::uint64_t slice_bytes = config_.application_bytes_per_round / kSlicesPerRound;
    // What could not leave waits, up to a round's worth.
    application_credit_ =
        std::min(application_credit_ + slice_bytes, config_.application_bytes_per_round);
    application_limited = application_credit_ < allowed + datagram;
    allowed = std::min(allowed, application_credit_);
  }
  const std::uint64_t bytes = allowed / datagram * datagram;
  if (bytes == 0) return;
  pacing_credit_ -= bytes;
  if (config_.application_bytes_per_round > 0) application_credit_ -= bytes;
  put_on_line(bytes, application_limited);
}

void LineModel::put_on_line(std::uint64_t bytes, bool application_limited) {
  in_flight_ += bytes;
  next_packet_number_ += packets(bytes);
  controller_.on_sent({.now = now_,
                       .bytes = config_.max_datagram,
                       .bytes_in_flight = in_flight_,
                       .packet_number = next_packet_number_});
  line_free_at_ = std::max(line_free_at_, now_);
  const std::uint64_t queued = bytes_in(config_.rate, line_free_at_ - now_);
  // What one slice's line time drains while the slice's packets arrive is room too.
  const std::uint64_t drained = bytes_in(config_.rate, slice_);
  const std::uint64_t room =
      config_.queue_bytes + drained > queued ? config_.queue_bytes + drained - queued : 0;
  std::uint64_t lost = bytes > room ? bytes - room : 0;
  lost = std::min(bytes,
                  (lost + config_.max_datagram - 1) / config_.max_datagram * config_.max_datagram);
  if (config_.loss_interval_bytes > 0) {
    until_loss_ -= std::min(until_loss_, bytes);
    if (until_loss_ == 0) {
      until_loss_ = config_.loss_interval_bytes;
      lost = std::max(lost, config_.max_datagram);
    }
  }
  line_free_at_ += time_on_line(bytes - lost, config_.rate);
  flights_.push_back({.sent_at = now_,
                      .reported_at = line_free_at_ + config_.rtt,
                      .bytes = bytes,
                      .lost_bytes = lost,
                      .delivered_at_send = delivered_,
                      .application_limited = application_limited});
}

std::uint64_t LineModel::packets(std::uint64_t bytes) const {
  return (bytes + config_.max_datagram - 1) / config_.max_datagram;
}

}  // namespace longhaul::congestion
