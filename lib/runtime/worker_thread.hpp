// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "longhaul/result.hpp"

namespace longhaul::runtime {

/// A thread with manners: named, every signal blocked, pinned only if asked to, and without any
/// effect on the thread that starts it. Not a std::thread, because a forked child has to be able to
/// forget it: the destructor neither joins nor terminates.
class WorkerThread {
 public:
  WorkerThread() = default;
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  /// Runs `body` on a thread called `name` (at most 15 characters), on CPU `cpu` if given.
  Result<void> start(const std::string& name, std::optional<unsigned> cpu,
                     std::function<void()> body);
  /// Waits for the body's end; nothing if there is no thread.
  void join();
  bool running() const noexcept { return running_; }
  /// True on the thread itself.
  bool is_current() const noexcept;

 private:
  static void* enter(void* self);

  pthread_t thread_{};
  std::atomic<bool> running_{false};
  std::function<void()> body_;
};

}  // namespace longhaul::runtime
