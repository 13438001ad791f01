// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "longhaul/time.hpp"

namespace longhaul::sim {

/// Which of a set of numbered things is due first. Ties go to the lower number, so the order never
/// depends on how the heap came to be.
class DueHeap {
 public:
  /// Changes when `id` is due; kNever takes it out.
  void set(std::uint32_t id, Timestamp due);

  bool empty() const noexcept { return entries_.empty(); }
  /// When the first is due; kNever if none is.
  Timestamp first() const noexcept { return entries_.empty() ? kNever : entries_[0].due; }
  std::uint32_t first_id() const noexcept { return entries_[0].id; }
  /// True if something other than the first comes before (`due`, first_id()).
  bool another_before(Timestamp due) const noexcept;

 private:
  struct Entry {
    Timestamp due;
    std::uint32_t id;
  };
  static constexpr std::uint32_t kAbsent = 0xffffffff;
  static bool before(const Entry& a, const Entry& b) noexcept {
    return a.due < b.due || (a.due == b.due && a.id < b.id);
  }
  void place(std::size_t position, const Entry& entry) noexcept {
    entries_[position] = entry;
    positions_[entry.id] = static_cast<std::uint32_t>(position);
  }
  void sift(std::size_t position, const Entry& entry) noexcept;

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> positions_;  // by id
};

}  // namespace longhaul::sim
