// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>

namespace longhaul::runtime {

/// Knows whether this process is the one that made it. A page the kernel wipes on fork
/// (MADV_WIPEONFORK) answers with one load and leaves no global handler behind, as pthread_atfork
/// would; where the kernel has no such page, getpid() is compared.
class ForkGuard {
 public:
  ForkGuard() noexcept;
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  /// True in a child of the process that made the guard.
  bool in_child() const noexcept;

 private:
  std::atomic<int>* page_ = nullptr;
  pid_t owner_;
};

}  // namespace longhaul::runtime
