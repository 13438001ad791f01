// SPDX-License-Identifier: Apache-2.0
#include "lib/io/sim/due_heap.hpp"

#include <algorithm>

namespace longhaul::sim {

void DueHeap::set(std::uint32_t id, Timestamp due) {
  if (id >= positions_.size()) positions_.resize(id + 1, kAbsent);
  const std::uint32_t position = positions_[id];
  if (due == kNever) {
    if (position == kAbsent) return;
    positions_[id] = kAbsent;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (position < entries_.size()) sift(position, last);
  } else if (position == kAbsent) {
    entries_.push_back({due, id});
    sift(entries_.size() - 1, {due, id});
  } else {
    sift(position, {due, id});
  }
}

bool DueHeap::another_before(Timestamp due) const noexcept {
  const Entry limit{due, entries_[0].id};
  const std::size_t end = std::min<std::size_t>(entries_.size(), 3);
  for (std::size_t i = 1; i < end; ++i) {
    if (before(entries_[i], limit)) return true;
  }
  return false;
}

// Puts `entry` where it belongs, starting from the hole at `position`.
void DueHeap::sift(std::size_t position, const Entry& entry) noexcept {
  while (position > 0) {
    const std::size_t parent = (position - 1) / 2;
    if (!before(entry, entries_[parent])) break;
    place(position, entries_[parent]);
    position = parent;
  }
  for (;;) {
    std::size_t child = 2 * position + 1;
    if (child >= entries_.size()) break;
    if (child + 1 < entries_.size() && before(entries_[child + 1], entries_[child])) ++child;
    if (!before(entries_[child], entry)) break;
    place(position, entries_[child]);
    position = child;
  }
  place(position, entry);
}

}  // namespace longhaul::sim
