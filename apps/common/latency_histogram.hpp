// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "longhaul/time.hpp"

namespace longhaul::apps {

/// Durations of any number of transfers in constant memory: each power of two is cut into 128
/// buckets, so a percentile is at most 0.8 % above the exact one. The maximum is exact.
class LatencyHistogram {
 public:
  void record(Duration duration) noexcept;
  std::uint64_t count() const noexcept { return count_; }
  Duration max() const noexcept { return Duration(static_cast<std::int64_t>(max_)); }
  /// Nearest-rank percentile, `percent` in (0, 100]; 0 when nothing was recorded.
  Duration percentile(double percent) const noexcept;

 private:
  static constexpr unsigned kSubBits = 7;
  static constexpr std::size_t kBuckets = (64 - kSubBits + 1) << kSubBits;
  static std::size_t bucket_of(std::uint64_t value) noexcept;
  static std::uint64_t largest_in(std::size_t bucket) noexcept;

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace longhaul::apps
