// SPDX-License-Identifier: Apache-2.0
#include "lib/netmodel/token_bucket.hpp"

#include <algorithm>

namespace longhaul::netmodel {

namespace {

constexpr std::uint64_t kScale = 1'000'000'000;
// Bits × 10^9 of more bytes would not fit 64 bits.
constexpr std::uint64_t kBytesMax = 2'000'000'000;

constexpr std::uint64_t scaled_bits(std::uint64_t bytes) noexcept {
  return std::min(bytes, kBytesMax) * 8 * kScale;
}

}  // namespace

void TokenBucket::configure(const Policer& policer, Timestamp now) noexcept {
  const bool was_off = rate_bps_ == 0;
  if (!was_off) fill(now);
  rate_bps_ = policer.rate_bps;
  capacity_ = scaled_bits(policer.burst_bytes);
  tokens_ = was_off ? capacity_ : std::min(tokens_, capacity_);
  filled_ = std::max(filled_, now);
}

bool TokenBucket::take(Timestamp now, std::uint64_t wire_bytes) noexcept {
  if (rate_bps_ == 0) return true;
  fill(now);
  const std::uint64_t wanted = scaled_bits(wire_bytes);
  if (wanted > tokens_) return false;
  tokens_ -= wanted;
  return true;
}

void TokenBucket::fill(Timestamp now) noexcept {
  const auto elapsed = static_cast<std::uint64_t>((now - filled_).count());
  filled_ = now;
  const std::uint64_t missing = capacity_ - tokens_;
  // Before the product, which would overflow after a long pause.
  tokens_ = elapsed > missing / rate_bps_ ? capacity_ : tokens_ + elapsed * rate_bps_;
}

}  // namespace longhaul::netmodel
