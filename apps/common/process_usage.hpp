// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "longhaul/time.hpp"

namespace longhaul::apps {

/// Processor time and memory of this process since `restart()`.
class ProcessUsage {
 public:
  ProcessUsage() { restart(); }
  /// Begins a new measurement; the memory peak starts from what is resident now, where the kernel
  /// allows to reset it (Linux does for one's own process).
  void restart();
  /// User and system time of all threads, as percent of one core.
  double cpu_percent() const;
  /// Largest resident set, MiB.
  double peak_rss_mib() const;

 private:
  std::chrono::steady_clock::time_point wall_start_;
  Duration cpu_start_{0};
};

}  // namespace longhaul::apps
