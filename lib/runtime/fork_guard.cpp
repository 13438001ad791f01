// SPDX-License-Identifier: Apache-2.0
#include "lib/runtime/fork_guard.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace longhaul::runtime {
namespace {
constexpr std::size_t kPageBytes = 4096;
}

ForkGuard::ForkGuard() noexcept : owner_(getpid()) {
  void* page =
      mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (madvise(page, kPageBytes, MADV_WIPEONFORK) != 0) {
    munmap(page, kPageBytes);
    return;
  }
  page_ = ::new (page) std::atomic<int>(1);
}

ForkGuard::~ForkGuard() {
  if (page_ != nullptr) munmap(page_, kPageBytes);
}

bool ForkGuard::in_child() const noexcept {
  if (page_ != nullptr) return page_->load(std::memory_order_relaxed) == 0;
  return getpid() != owner_;
}

}  // namespace longhaul::runtime
