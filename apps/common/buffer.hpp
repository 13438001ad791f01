// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>

#include "longhaul/result.hpp"

namespace longhaul::apps {

/// Plain memory for tensors, aligned for vector instructions and, when large, for huge pages.
/// Its pages are touched on allocation, so that page faults do not land in a measurement.
class Buffer {
 public:
  Buffer() = default;
  /// `purpose` names the memory in the error ("receive window", "model file" …).
  static Result<Buffer> allocate(std::uint64_t bytes, std::string_view purpose);

  std::byte* data() noexcept { return memory_.get(); }
  const std::byte* data() const noexcept { return memory_.get(); }
  std::uint64_t size() const noexcept { return bytes_; }
  std::span<const std::byte> span() const noexcept { return {data(), bytes_}; }
  std::span<std::byte> span() noexcept { return {data(), bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::uint64_t bytes_ = 0;
};

/// Bytes the system could hand out without swapping (MemAvailable); 0 when it does not say.
std::uint64_t available_memory();

}  // namespace longhaul::apps
