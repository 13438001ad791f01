// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <utility>

#include "lib/transfer/slots.hpp"
#include "longhaul/time.hpp"

namespace longhaul::transfer {

/// Deadlines of transfers, earliest first; removed with their transfer, so memory follows what is
/// outstanding.
class Deadlines {
 public:
  void add(Timestamp at, SlotHandle transfer) { entries_.insert({at, transfer}); }
  void remove(Timestamp at, SlotHandle transfer) { entries_.erase({at, transfer}); }
  Timestamp next() const noexcept { return entries_.empty() ? kNever : entries_.begin()->first; }
  /// Precondition: next() != kNever.
  SlotHandle first() const noexcept { return entries_.begin()->second; }
  void pop() { entries_.erase(entries_.begin()); }

 private:
  std::set<std::pair<Timestamp, SlotHandle>> entries_;
};

}  // namespace longhaul::transfer
