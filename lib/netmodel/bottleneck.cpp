// SPDX-License-Identifier: Apache-2.0
#include "lib/netmodel/bottleneck.hpp"

#include <algorithm>

namespace longhaul::netmodel {

namespace {
// A packet's bits × 10^9; fits 64 bits for every packet below 2 GB.
constexpr std::uint64_t scaled_bits(std::uint64_t bytes) noexcept {
  return bytes * 8'000'000'000ULL;
}
}  // namespace

void Bottleneck::configure(std::uint64_t rate_bps, std::uint64_t queue_bytes) noexcept {
  if (rate_bps != rate_bps_) {
    rate_bps_ = rate_bps;
    fraction_ = 0;
    cached_bytes_ = 0;
    cached_time_ = Duration{0};
    cached_fraction_ = 0;
  }
  queue_bytes_ = queue_bytes;
}

std::optional<Timestamp> Bottleneck::enqueue(Timestamp now, std::uint64_t wire_bytes) {
  leave_queue(now);
  if (now > finish_) {
    finish_ = now;
    fraction_ = 0;
  } else if (finish_ > now) {
    if (queue_bytes_ != 0 && waiting_bytes_ + wire_bytes > queue_bytes_) return std::nullopt;
    waiting_.push_back({finish_, wire_bytes});
    waiting_bytes_ += wire_bytes;
    waiting_bytes_max_ = std::max(waiting_bytes_max_, waiting_bytes_);
  }
  if (rate_bps_ != 0) advance_finish(wire_bytes);
  return finish_;
}

Timestamp Bottleneck::earliest_finish(Timestamp now, std::uint64_t wire_bytes) const noexcept {
  const Timestamp start = std::max(now, finish_);
  if (rate_bps_ == 0) return start;
  if (wire_bytes == cached_bytes_) return start + cached_time_;
  return start + Duration{static_cast<std::int64_t>(scaled_bits(wire_bytes) / rate_bps_)};
}

void Bottleneck::leave_queue(Timestamp now) noexcept {
  while (!waiting_.empty() && waiting_.front().start <= now) {
    waiting_bytes_ -= waiting_.front().bytes;
    waiting_.pop_front();
  }
}

void Bottleneck::advance_finish(std::uint64_t wire_bytes) noexcept {
  if (wire_bytes != cached_bytes_) {
    cached_bytes_ = wire_bytes;
    cached_time_ = Duration{static_cast<std::int64_t>(scaled_bits(wire_bytes) / rate_bps_)};
    cached_fraction_ = scaled_bits(wire_bytes) % rate_bps_;
  }
  finish_ += cached_time_;
  fraction_ += cached_fraction_;
  if (fraction_ >= rate_bps_) {
    fraction_ -= rate_bps_;
    finish_ += Duration{1};
  }
}

}  // namespace longhaul::netmodel
