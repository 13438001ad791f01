// SPDX-License-Identifier: Apache-2.0
#include "congestion/pacer.hpp"

#include <algorithm>

namespace longhaul::congestion {
namespace {

constexpr std::uint64_t kBitNanosPerByte = 8'000'000'000;  // bits a byte has × ns a second has
// bytes × kBitNanosPerByte fits into 64 bits.
constexpr std::uint64_t kPacketBytesMax = std::uint64_t{1} << 31;
// RFC 9002 §7.7: bursts no larger than the initial window.
constexpr std::uint64_t kBurstDatagrams = 10;

BitsPerSecond sane_rate(BitsPerSecond rate) {
  return std::clamp(rate, kRateFloor, kRateCeiling);
}

}  // namespace

Pacer::Pacer(BitsPerSecond rate, const PacerConfig& config)
    : config_(config), rate_(sane_rate(rate)) {
  config_.max_datagram = sane_datagram(config.max_datagram);
  config_.burst_time = std::clamp(config.burst_time, Duration::zero(), kRttCeiling);
  config_.catch_up = std::clamp(config.catch_up, Duration::zero(), kRttCeiling);
  config_.burst_bytes_max = std::min(config.burst_bytes_max, kPacketBytesMax);
  update_limits();
}

void Pacer::set_rate(BitsPerSecond rate) {
  rate = sane_rate(rate);
  if (rate == rate_) return;
  // Fractions of a nanosecond before the last departure are past; only what follows it is owed.
  const std::uint64_t past = multiply_divide(last_remainder_, rate, rate_);
  if (next_ >= last_departure_) {
    const Duration wait = elapsed(last_departure_, next_);
    const Uint128 owed =
        static_cast<Uint128>(wait.count()) * rate_ + remainder_ - last_remainder_ + past;
    constexpr std::uint64_t kWaitMax = std::uint64_t{1} << 62;
    next_ = later(last_departure_,
                  Duration(static_cast<std::int64_t>(std::min(saturated(owed / rate), kWaitMax))));
    remainder_ = static_cast<std::uint64_t>(owed % rate);
  } else {
    remainder_ = multiply_divide(remainder_, rate, rate_);
  }
  last_remainder_ = past;
  rate_ = rate;
  update_limits();
}

void Pacer::set_max_datagram(std::uint64_t max_datagram) {
  config_.max_datagram = sane_datagram(max_datagram);
  update_limits();
}

void Pacer::on_sent(Timestamp departure, std::uint64_t bytes) {
  if (departure >= last_departure_) {
    last_departure_ = departure;
    last_remainder_ = departure == next_ ? remainder_ : 0;
  }
  charge(departure, bytes, idle_ ? burst_credit_ : catch_up_credit_);
  idle_ = false;
}

void Pacer::on_sent_unpaced(Timestamp now, std::uint64_t bytes) {
  const Timestamp limit = std::max(next_, later(now, config_.catch_up + time_of(burst_bytes_)));
  charge(now, bytes, idle_ ? burst_credit_ : catch_up_credit_);
  last_departure_ = std::max(last_departure_, now);
  if (next_ > limit) {
    next_ = limit;
    remainder_ = last_remainder_ = 0;
  }
}

void Pacer::update_limits() {
  const std::uint64_t fast = std::min(bytes_in(rate_, config_.burst_time), config_.burst_bytes_max);
  const std::uint64_t slow =
      std::min(bytes_in(rate_, config_.slow_burst_time), kBurstDatagrams * config_.max_datagram);
  burst_bytes_ = std::max({fast, slow, 2 * config_.max_datagram});
  burst_duration_ = time_of(burst_bytes_);
  // The packet that uses up the credit leaves at once too.
  burst_credit_ = time_of(burst_bytes_ - config_.max_datagram);
  catch_up_credit_ = std::max({config_.catch_up, burst_credit_,
                               std::min(4 * config_.catch_up, time_of(config_.catch_up_bytes))});
}

void Pacer::charge(Timestamp departure, std::uint64_t bytes, Duration credit_max) {
  const Timestamp oldest = earlier(departure, credit_max);
  if (next_ < oldest) {
    next_ = oldest;
    remainder_ = 0;
  }
  const std::uint64_t work = std::min(bytes, kPacketBytesMax) * kBitNanosPerByte;
  next_ = later(next_, Duration(static_cast<std::int64_t>(work / rate_)));
  remainder_ += work % rate_;
  if (remainder_ >= rate_) {
    remainder_ -= rate_;
    next_ = later(next_, Duration(1));
  }
}

Duration Pacer::time_of(std::uint64_t bytes) const {
  return Duration(
      static_cast<std::int64_t>(std::min(bytes, kPacketBytesMax) * kBitNanosPerByte / rate_));
}

}  // namespace longhaul::congestion
