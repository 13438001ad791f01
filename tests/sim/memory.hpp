// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/support/heap.hpp"

namespace longhaul::simtest {

using tests::Heap;

/// Tensor memory outside the heap. Pages nobody touches cost nothing, so that a 5 GiB tensor of a
/// run in payload mode `reference` fits on any machine.
class TensorMemory {
 public:
  explicit TensorMemory(std::uint64_t bytes);
  ~TensorMemory();
  TensorMemory(TensorMemory&& other) noexcept;
  TensorMemory& operator=(TensorMemory&&) = delete;
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;

  std::byte* data() const noexcept { return data_; }
  std::uint64_t size() const noexcept { return bytes_; }
  std::span<std::byte> span() const noexcept { return {data_, bytes_}; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_;
};

/// Random bytes made from `seed`.
void fill(std::span<std::byte> memory, std::uint64_t seed) noexcept;

}  // namespace longhaul::simtest
