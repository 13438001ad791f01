// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>

#include "longhaul/result.hpp"
#include "longhaul/tensor.hpp"

namespace longhaul::api {

/// One registered range. Transfers share it while they are outstanding.
struct RegionUse {
  Region region;
  std::span<std::byte> memory;
  std::atomic<std::uint32_t> transfers{0};
};

/// A transfer's claim on a region: while it lives the region cannot be unregistered.
class RegionHold {
 public:
  explicit RegionHold(std::shared_ptr<RegionUse> use) noexcept : use_(std::move(use)) {
    use_->transfers.fetch_add(1, std::memory_order_relaxed);
  }
  ~RegionHold() {
    if (use_ != nullptr) use_->transfers.fetch_sub(1, std::memory_order_release);
  }
  RegionHold(RegionHold&&) noexcept = default;
  RegionHold& operator=(RegionHold&&) = delete;
  RegionHold(const RegionHold&) = delete;
  RegionHold& operator=(const RegionHold&) = delete;

 private:
  std::shared_ptr<RegionUse> use_;
};

/// Memory the application registered. Only application threads use it; its lock is never taken by a
/// worker.
class RegionTable {
 public:
  /// An identifier nobody has had.
  Region reserve() noexcept { return Region{next_.fetch_add(1, std::memory_order_relaxed)}; }
  void insert(Region region, std::span<std::byte> memory);
  /// invalid_argument if it is unknown or a transfer still uses it.
  Result<std::shared_ptr<RegionUse>> remove(Region region);
  /// Checks that [data, data + bytes) lies inside `region` and holds it.
  Result<RegionHold> hold(Region region, const void* data, std::uint64_t bytes) const;
  void clear();

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<RegionUse>> regions_;
  std::atomic<std::uint64_t> next_{1};
};

}  // namespace longhaul::api
