// SPDX-License-Identifier: Apache-2.0
// In a file of its own, so that no call is inlined and paired with the other half of the
// standard's.
#include "tests/conformance/controllers/allocation_counter.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::uint64_t> calls{0};
}

void* operator new(std::size_t size) {
  calls.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace longhaul::congestion {

std::uint64_t allocations() {
  return calls.load(std::memory_order_relaxed);
}

}  // namespace longhaul::congestion
