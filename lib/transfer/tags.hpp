// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "lib/base/interval_set.hpp"
#include "longhaul/status.hpp"
#include "longhaul/transfer.hpp"

namespace longhaul::transfer {

/// Counts the requests of each tag, and remembers which of the coming ones have ended before they
/// were asked for. Many that end in a row cost one interval.
class Tags {
 public:
  /// n of the next request of a tag.
  std::uint64_t take_next(Tag tag) { return next_[tag]++; }
  std::uint64_t next(Tag tag) const;
  /// (tag, n) is over before our side of it exists. False if the book-keeping is full.
  bool note_ended(Tag tag, std::uint64_t n, Status status);
  bool has_ended(Tag tag, std::uint64_t n) const { return find_ended(tag, n) < kStatuses.size(); }
  /// The status of (tag, n) if it ended already, else pending. Forgets it.
  Status take_ended(Tag tag, std::uint64_t n);

 private:
  // How a transfer can end before we ask, kept apart. Any other status is kept as `cancelled`.
  static constexpr std::array kStatuses{Status::cancelled, Status::timed_out, Status::refused,
                                        Status::corrupt, Status::internal};
  static constexpr std::size_t kIntervalsMax = 65536;
  using Ended = std::array<base::IntervalSet, kStatuses.size()>;

  std::size_t find_ended(Tag tag, std::uint64_t n) const;

  std::unordered_map<Tag, std::uint64_t> next_;
  std::unordered_map<Tag, Ended> ended_;
  std::size_t intervals_ = 0;
};

}  // namespace longhaul::transfer
