// SPDX-License-Identifier: Apache-2.0
#include "apps/common/buffer.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <fstream>
#include <limits>
#include <string>

#include "apps/common/units.hpp"

namespace longhaul::apps {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kHugePage = 2u << 20;
constexpr std::uint64_t kVector = 64;

}  // namespace

Result<Buffer> Buffer::allocate(std::uint64_t bytes, std::string_view purpose) {
  const std::uint64_t available = available_memory();
  if (available != 0 && bytes > available) {
    return fail(ErrorCode::budget_exceeded,
                fmt::format("the {} needs {} of memory but {} is available; use a smaller --size "
                            "or -P, or a machine with more memory",
                            purpose, format_bytes(bytes), format_bytes(available)));
  }
  const std::uint64_t alignment = bytes >= kHugePage ? kHugePage : kVector;
  if (bytes > std::numeric_limits<std::uint64_t>::max() - 2 * alignment) {
    return fail(ErrorCode::invalid_argument, fmt::format("the {} is too large", purpose));
  }
  const std::uint64_t rounded = (bytes + alignment) / alignment * alignment;
  Buffer buffer;
  buffer.memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
  if (!buffer.memory_) {
    return fail(ErrorCode::budget_exceeded,
                fmt::format("no memory for the {} of {}; use a smaller --size or -P", purpose,
                            format_bytes(bytes)));
  }
  if (alignment == kHugePage) {
    // Only advice: without huge pages the memory works as well.
    static_cast<void>(::madvise(buffer.memory_.get(), rounded, MADV_HUGEPAGE));
  }
  for (std::uint64_t at = 0; at < rounded; at += kPage) buffer.memory_.get()[at] = std::byte{0};
  buffer.bytes_ = bytes;
  return buffer;
}

std::uint64_t available_memory() {
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  std::uint64_t kibibytes = 0;
  std::string unit;
  while (meminfo >> key >> kibibytes >> unit) {
    if (key == "MemAvailable:") return kibibytes * 1024;
  }
  return 0;
}

}  // namespace longhaul::apps
