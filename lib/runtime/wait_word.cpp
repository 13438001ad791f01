// SPDX-License-Identifier: Apache-2.0
#include "lib/runtime/wait_word.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace longhaul::runtime {
namespace {

// The kernel wants the address of a plain 32-bit word.
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
              std::atomic<std::uint32_t>::is_always_lock_free);

std::uint32_t* word(std::atomic<std::uint32_t>& atomic) noexcept {
  return reinterpret_cast<std::uint32_t*>(&atomic);
}

}  // namespace

void WaitWord::wait(std::uint32_t prepared, std::optional<Duration> longest) noexcept {
  timespec limit{};
  if (longest) {
    if (*longest <= Duration::zero()) return;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*longest);
    limit.tv_sec = seconds.count();
    limit.tv_nsec = (*longest - seconds).count();
  }
  waiters_.fetch_add(1, std::memory_order_seq_cst);
  if (sequence_.load(std::memory_order_seq_cst) == prepared) {
    syscall(SYS_futex, word(sequence_), FUTEX_WAIT_PRIVATE, prepared, longest ? &limit : nullptr,
            nullptr, 0);
  }
  waiters_.fetch_sub(1, std::memory_order_relaxed);
}

void WaitWord::notify() noexcept {
  sequence_.fetch_add(1, std::memory_order_seq_cst);
  if (waiters_.load(std::memory_order_seq_cst) == 0) return;
  syscall(SYS_futex, word(sequence_), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace longhaul::runtime
