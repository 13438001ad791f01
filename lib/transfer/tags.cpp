// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/tags.hpp"

#include <algorithm>

namespace longhaul::transfer {

std::uint64_t Tags::next(Tag tag) const {
  const auto it = next_.find(tag);
  return it == next_.end() ? 0 : it->second;
}

std::size_t Tags::find_ended(Tag tag, std::uint64_t n) const {
  const auto it = ended_.find(tag);
  if (it == ended_.end()) return kStatuses.size();
  const auto holds = [n](const base::IntervalSet& set) { return set.contains(n); };
  return static_cast<std::size_t>(std::ranges::find_if(it->second, holds) - it->second.begin());
}

bool Tags::note_ended(Tag tag, std::uint64_t n, Status status) {
  if (has_ended(tag, n)) return true;
  auto kind = static_cast<std::size_t>(std::ranges::find(kStatuses, status) - kStatuses.begin());
  if (kind == kStatuses.size()) kind = 0;
  base::IntervalSet& set = ended_[tag][kind];
  intervals_ -= set.intervals().size();
  set.insert(n, n + 1);
  intervals_ += set.intervals().size();
  return intervals_ <= kIntervalsMax;
}

Status Tags::take_ended(Tag tag, std::uint64_t n) {
  const std::size_t kind = find_ended(tag, n);
  if (kind == kStatuses.size()) return Status::pending;
  const auto it = ended_.find(tag);
  base::IntervalSet& set = it->second[kind];
  intervals_ -= set.intervals().size();
  set.erase(n, n + 1);
  intervals_ += set.intervals().size();
  if (std::ranges::all_of(it->second, [](const auto& each) { return each.empty(); }))
    ended_.erase(it);
  return kStatuses[kind];
}

}  // namespace longhaul::transfer
