// SPDX-License-Identifier: Apache-2.0
// Bytes for tests: literals in hexadecimal, and memory whose end is the end of a page.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "lib/base/random.hpp"

namespace longhaul::wire::test {

using Bytes = std::vector<std::byte>;

/// "01 ab|cd" → bytes; everything but hexadecimal digits is layout.
inline Bytes hex(std::string_view text) {
  Bytes bytes;
  int high = -1;
  for (const char c : text) {
    int digit = -1;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    if (digit < 0) continue;
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<std::byte>(high * 16 + digit));
      high = -1;
    }
  }
  return bytes;
}

inline Bytes random_bytes(base::Random& random, std::size_t size) {
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
  return bytes;
}

/// Hands out copies that end where the readable memory of the process ends for a page, so that
/// reading one byte too far, in assembly as well, is a crash in every build.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t capacity) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    capacity_ = (capacity + page - 1) / page * page;
    mapped_ = capacity_ + page;
    void* const memory =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    begin_ = static_cast<std::byte*>(memory);
    if (mprotect(begin_ + capacity_, page, PROT_NONE) != 0) std::abort();
  }
  ~GuardedMemory() { munmap(begin_, mapped_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  /// Replaces what was handed out before.
  std::span<std::byte> copy(std::span<const std::byte> bytes) {
    if (bytes.size() > capacity_) std::abort();
    std::byte* const begin = begin_ + capacity_ - bytes.size();
    std::ranges::copy(bytes, begin);
    return {begin, bytes.size()};
  }
  /// `size` bytes of which not one may be touched, at most a page.
  std::span<std::byte> forbidden(std::size_t size) const { return {begin_ + capacity_, size}; }

 private:
  std::byte* begin_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t mapped_ = 0;
};

}  // namespace longhaul::wire::test
