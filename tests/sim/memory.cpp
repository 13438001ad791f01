// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/memory.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "lib/base/random.hpp"

namespace {

// Scenarios run on one thread; the counters need no more than that.
std::uint64_t g_live = 0;
std::uint64_t g_peak = 0;

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  g_live += malloc_usable_size(memory);
  g_peak = std::max(g_peak, g_live);
  return memory;
}

void release(void* memory) noexcept {
  if (memory != nullptr) g_live -= malloc_usable_size(memory);
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

namespace longhaul::simtest {

std::uint64_t Heap::live() noexcept {
  return g_live;
}
std::uint64_t Heap::peak() noexcept {
  return g_peak;
}
void Heap::reset_peak() noexcept {
  g_peak = g_live;
}

TensorMemory::TensorMemory(std::uint64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::runtime_error("cannot map tensor memory");
  data_ = static_cast<std::byte*>(mapped);
}

TensorMemory::~TensorMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

TensorMemory::TensorMemory(TensorMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

void fill(std::span<std::byte> memory, std::uint64_t seed) noexcept {
  base::Random random(seed);
  for (std::uint64_t at = 0; at < memory.size(); at += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(memory.data() + at, &word, std::min<std::uint64_t>(8, memory.size() - at));
  }
}

}  // namespace longhaul::simtest
