// SPDX-License-Identifier: Apache-2.0
#include "lib/runtime/burst_limit.hpp"

#include <algorithm>

namespace longhaul::runtime {

namespace {
// Below this the work a burst costs once is no longer shared by enough datagrams.
constexpr std::size_t kDatagramsMin = 16;
constexpr std::size_t kForgottenShare = 16;
}  // namespace

BurstLimit::BurstLimit(const BurstBounds& bounds, std::size_t datagram_bytes) noexcept
    : bounds_(bounds), expected_(datagram_bytes), datagrams_(limit_for(datagram_bytes)) {}

void BurstLimit::on_burst(std::size_t largest) noexcept {
  if (largest == expected_) return;
  // Rounded up, so that it does arrive.
  const std::size_t excess = expected_ - std::min(largest, expected_);
  const std::size_t forgotten = (excess + kForgottenShare - 1) / kForgottenShare;
  expected_ = std::max(largest, expected_ - forgotten);
  datagrams_ = limit_for(expected_);
}

std::size_t BurstLimit::limit_for(std::size_t datagram_bytes) const noexcept {
  const std::size_t size = std::max<std::size_t>(datagram_bytes, 1);
  std::size_t datagrams = std::max(bounds_.bytes_max / size, kDatagramsMin);
  datagrams = std::min(datagrams, bounds_.datagrams_max);
  const std::size_t train = std::min(bounds_.train_bytes / size, bounds_.train_datagrams);
  if (train > 1 && datagrams > train) datagrams -= datagrams % train;
  return std::max<std::size_t>(datagrams, 1);
}

}  // namespace longhaul::runtime
