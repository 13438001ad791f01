// SPDX-License-Identifier: Apache-2.0
#include "tests/support/heap.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> g_live{0};
std::atomic<std::uint64_t> g_peak{0};
std::atomic<std::uint64_t> g_allocations{0};
thread_local std::uint64_t t_allocations = 0;

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const std::uint64_t size = malloc_usable_size(memory);
  const std::uint64_t live = g_live.fetch_add(size, std::memory_order_relaxed) + size;
  std::uint64_t peak = g_peak.load(std::memory_order_relaxed);
  while (live > peak && !g_peak.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  ++t_allocations;
  return memory;
}

void release(void* memory) noexcept {
  if (memory != nullptr) g_live.fetch_sub(malloc_usable_size(memory), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
  return counted(std::malloc(std::max<std::size_t>(size, 1)));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto align = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(align, (size + align - 1) / align * align));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return ::operator new(bytes);
  } catch (...) {
    return nullptr;
  }
}

void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}

namespace longhaul::tests {

std::uint64_t Heap::live() noexcept {
  return g_live.load(std::memory_order_relaxed);
}
std::uint64_t Heap::peak() noexcept {
  return g_peak.load(std::memory_order_relaxed);
}
void Heap::reset_peak() noexcept {
  g_peak.store(live(), std::memory_order_relaxed);
}
std::uint64_t Heap::allocations_here() noexcept {
  return t_allocations;
}
std::uint64_t Heap::allocations() noexcept {
  return g_allocations.load(std::memory_order_relaxed);
}

}  // namespace longhaul::tests
