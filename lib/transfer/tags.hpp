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

/// Which requests are over, by tag and n, and how. Many in a row cost one interval; beyond
/// `intervals_max` intervals nothing more is remembered.
class Endings {
 public:
  explicit Endings(std::size_t intervals_max) noexcept : intervals_max_(intervals_max) {}

  /// The first word stands. False if there was no room to remember it.
  bool note(Tag tag, std::uint64_t n, Status status);
  /// pending if it is not known to be over.
  Status find(Tag tag, std::uint64_t n) const;
  void forget(Tag tag, std::uint64_t n);

 private:
  // How a transfer can end without success, kept apart. Any other status is kept as `cancelled`.
  static constexpr std::array kStatuses{Status::cancelled, Status::timed_out, Status::refused,
                                        Status::corrupt, Status::internal};
  using Ended = std::array<base::IntervalSet, kStatuses.size()>;

  std::size_t kind_of(Tag tag, std::uint64_t n) const;

  std::size_t intervals_max_;
  std::unordered_map<Tag, Ended> ended_;
  std::size_t intervals_ = 0;
};

/// Counts the requests of each tag, and remembers which of the coming ones have ended before they
/// were asked for.
class Tags {
 public:
  /// n of the next request of a tag.
  std::uint64_t take_next(Tag tag) { return next_[tag]++; }
  std::uint64_t next(Tag tag) const;
  /// (tag, n) is over before our side of it exists. Without room it is forgotten: our side's first
  /// word of it will be answered once more (see `Endings` of the other side's own).
  void note_ended(Tag tag, std::uint64_t n, Status status) { (void)early_.note(tag, n, status); }
  bool has_ended(Tag tag, std::uint64_t n) const { return early_.find(tag, n) != Status::pending; }
  /// The status of (tag, n) if it ended already, else pending. Forgets it.
  Status take_ended(Tag tag, std::uint64_t n);

 private:
  static constexpr std::size_t kIntervalsMax = 65536;

  std::unordered_map<Tag, std::uint64_t> next_;
  Endings early_{kIntervalsMax};
};

}  // namespace longhaul::transfer
