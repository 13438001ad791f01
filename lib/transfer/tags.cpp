// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/tags.hpp"

namespace longhaul::transfer {

bool Tags::note_ended(Tag tag, std::uint64_t n, Status status) {
  std::size_t kind = 1;
  for (std::size_t i = 0; i < kStatuses.size(); ++i)
    if (kStatuses[i] == status) kind = i;
  base::IntervalSet& ended = tags_[tag].ended[kind];
  if (ended.contains(n)) return true;
  const std::size_t before = ended.intervals().size();
  ended.insert(n, n + 1);
  noted_ += ended.intervals().size();
  noted_ -= before;
  return noted_ <= kIntervalsMax;
}

Status Tags::take_ended(Tag tag, std::uint64_t n) {
  const auto it = tags_.find(tag);
  if (it == tags_.end()) return Status::pending;
  for (std::size_t i = 0; i < kStatuses.size(); ++i) {
    base::IntervalSet& ended = it->second.ended[i];
    if (!ended.contains(n)) continue;
    noted_ -= ended.intervals().size();
    ended.erase(n, n + 1);
    noted_ += ended.intervals().size();
    return kStatuses[i];
  }
  return Status::pending;
}

}  // namespace longhaul::transfer
