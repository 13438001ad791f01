// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <utility>
#include <vector>

#include "longhaul/result.hpp"

namespace longhaul::apps {

/// Keeps all threads of this process but the calling one on one core, as long as it lives. For
/// threads that somebody else started, such as a library's workers.
class ThreadPinning {
 public:
  /// An error names the cores that would do.
  static Result<ThreadPinning> pin_others(unsigned cpu);
  ThreadPinning(ThreadPinning&& other) noexcept : before_(std::exchange(other.before_, {})) {}
  ThreadPinning& operator=(ThreadPinning&&) = delete;
  ThreadPinning(const ThreadPinning&) = delete;
  ThreadPinning& operator=(const ThreadPinning&) = delete;
  /// Threads go back to where they were allowed before.
  ~ThreadPinning();

 private:
  ThreadPinning() = default;

  std::vector<std::pair<pid_t, cpu_set_t>> before_;
};

}  // namespace longhaul::apps
