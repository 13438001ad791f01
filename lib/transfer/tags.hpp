// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "lib/base/interval_set.hpp"
#include "longhaul/status.hpp"
#include "longhaul/transfer.hpp"

namespace longhaul::transfer {

/// Counts the requests of each tag, and remembers which of the coming ones the peer has already
/// ended. A peer that ends many in a row costs one interval.
class Tags {
 public:
  /// n of the next request of a tag.
  std::uint64_t take_next(Tag tag) { return tags_[tag].next++; }
  std::uint64_t next(Tag tag) const {
    const auto it = tags_.find(tag);
    return it == tags_.end() ? 0 : it->second.next;
  }
  /// The peer ended its side of (tag, n) before ours exists. False if the book-keeping is full.
  bool note_ended(Tag tag, std::uint64_t n, Status status);
  /// The status of (tag, n) if the peer ended it already, else pending. Forgets it.
  Status take_ended(Tag tag, std::uint64_t n);

 private:
  // What a peer can end before we ask, kept apart.
  static constexpr std::array kStatuses{Status::timed_out, Status::cancelled, Status::refused};
  static constexpr std::size_t kIntervalsMax = 65536;
  struct State {
    std::uint64_t next = 0;
    std::array<base::IntervalSet, kStatuses.size()> ended;
  };
  std::unordered_map<Tag, State> tags_;
  std::size_t noted_ = 0;
};

}  // namespace longhaul::transfer
