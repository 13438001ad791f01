// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "lib/base/random.hpp"

namespace longhaul::simtest {

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
