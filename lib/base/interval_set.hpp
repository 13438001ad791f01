// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace longhaul::base {

/// Half-open range of numbers (bytes, packet numbers).
struct Interval {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t length() const noexcept { return end - begin; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// Sorted disjoint half-open intervals, neighbours merged. Size is O(gaps), so it suits what is
/// nearly contiguous; inserting behind the last interval is O(1).
class IntervalSet {
 public:
  /// Adds [begin, end); returns how many numbers were not there before.
  std::uint64_t insert(std::uint64_t begin, std::uint64_t end);
  /// Removes [begin, end); returns how many numbers were there.
  std::uint64_t erase(std::uint64_t begin, std::uint64_t end);
  void clear() noexcept;

  bool contains(std::uint64_t value) const noexcept;
  /// All of [begin, end); true if empty.
  bool covers(std::uint64_t begin, std::uint64_t end) const noexcept;
  bool intersects(std::uint64_t begin, std::uint64_t end) const noexcept;
  /// The interval that holds `value`, or an empty one at `value`.
  Interval containing(std::uint64_t value) const noexcept;
  /// First number ≥ from that is missing.
  std::uint64_t first_missing(std::uint64_t from) const noexcept;
  /// First number ≥ from that is in the set; UINT64_MAX if none.
  std::uint64_t first_member(std::uint64_t from) const noexcept;
  /// First maximal missing range inside [from, limit); empty at `limit` if nothing is missing.
  Interval next_gap(std::uint64_t from, std::uint64_t limit) const noexcept;

  bool empty() const noexcept { return intervals_.empty(); }
  std::uint64_t total() const noexcept { return total_; }  ///< numbers in the set
  std::span<const Interval> intervals() const noexcept { return intervals_; }

 private:
  std::size_t lower(std::uint64_t value) const noexcept;  // first interval with end ≥ value

  std::vector<Interval> intervals_;
  std::uint64_t total_ = 0;
};

}  // namespace longhaul::base
