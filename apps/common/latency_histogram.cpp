// SPDX-License-Identifier: Apache-2.0
#include "apps/common/latency_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace longhaul::apps {

std::size_t LatencyHistogram::bucket_of(std::uint64_t value) noexcept {
  const auto width = static_cast<unsigned>(std::bit_width(value));
  if (width <= kSubBits) return static_cast<std::size_t>(value);
  // The leading bit selects the row, the kSubBits after it the bucket within.
  const unsigned shift = width - kSubBits - 1;
  const std::uint64_t within = (value >> shift) & ((1u << kSubBits) - 1);
  return ((std::size_t{shift} + 1) << kSubBits) + static_cast<std::size_t>(within);
}

std::uint64_t LatencyHistogram::largest_in(std::size_t bucket) noexcept {
  const std::size_t row = bucket >> kSubBits;
  if (row == 0) return bucket;
  const std::uint64_t within = bucket & ((1u << kSubBits) - 1);
  const std::uint64_t first = ((std::uint64_t{1} << kSubBits) + within) << (row - 1);
  return first + (std::uint64_t{1} << (row - 1)) - 1;
}

void LatencyHistogram::record(Duration duration) noexcept {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration.count()));
  ++buckets_[bucket_of(value)];
  ++count_;
  max_ = std::max(max_, value);
}

Duration LatencyHistogram::percentile(double percent) const noexcept {
  if (count_ == 0) return Duration{0};
  const double exact_rank = std::ceil(percent / 100 * static_cast<double>(count_));
  const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(exact_rank), 1, count_);
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets_[bucket];
    if (seen >= rank) {
      return Duration(static_cast<std::int64_t>(std::min(largest_in(bucket), max_)));
    }
  }
  return max();
}

}  // namespace longhaul::apps
