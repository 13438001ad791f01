// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace longhaul::tests {

/// Heap of this process as seen through operator new, which a program replaces by linking heap.cpp.
/// Any thread may ask.
struct Heap {
  static std::uint64_t live() noexcept;  ///< bytes allocated and not freed
  static std::uint64_t peak() noexcept;  ///< largest `live()` since `reset_peak()`
  static void reset_peak() noexcept;
  /// Calls of operator new so far, on this thread and on all of them.
  static std::uint64_t allocations_here() noexcept;
  static std::uint64_t allocations() noexcept;
};

}  // namespace longhaul::tests
