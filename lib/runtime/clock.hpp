// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "longhaul/time.hpp"

namespace longhaul::runtime {

/// Where time comes from. The only interface in the tree that has a `now()`.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Never goes backwards.
  virtual Timestamp now() const noexcept = 0;
};

/// CLOCK_MONOTONIC. Stateless: any number of them agree.
class MachineClock final : public Clock {
 public:
  Timestamp now() const noexcept override;
};

/// Stands where it was put; tests and the simulation move it.
class VirtualClock final : public Clock {
 public:
  explicit VirtualClock(Timestamp start = Timestamp{}) noexcept : now_(start) {}
  Timestamp now() const noexcept override { return now_.load(std::memory_order_relaxed); }
  /// An earlier moment than the present one is ignored.
  void set(Timestamp time) noexcept {
    if (time > now()) now_.store(time, std::memory_order_relaxed);
  }

 private:
  std::atomic<Timestamp> now_;
};

}  // namespace longhaul::runtime
