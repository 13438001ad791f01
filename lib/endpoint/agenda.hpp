// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "lib/base/fifo.hpp"
#include "longhaul/time.hpp"

namespace longhaul::endpoint {

/// Which connections need attention: those something happened to, and those whose time has come.
/// Cost follows activity, not the number of connections.
class Agenda {
 public:
  /// Something happened to the connection.
  void touch(std::uint32_t cid) {
    State& state = states_[cid];
    if (state.active) return;
    state.active = true;
    active_.push_back(cid);
  }
  bool has_active() const noexcept { return !active_.empty(); }
  std::uint32_t front() const noexcept { return active_.front(); }
  /// The front connection has more to send than there was room for: others first.
  void rotate() {
    const std::uint32_t cid = active_.front();
    active_.pop_front();
    active_.push_back(cid);
    skip_forgotten();
  }
  /// The front connection is drained; look again at `next`.
  void settle_front(Timestamp next) {
    const std::uint32_t cid = active_.front();
    active_.pop_front();
    skip_forgotten();
    State& state = states_[cid];
    state.active = false;
    if (next != kNever && next < state.due) {
      state.due = next;
      push({next, cid});
    } else if (next > state.due) {
      // The earlier entry in the heap wakes us once for nothing and is replaced then.
      state.wanted = next;
      return;
    }
    state.wanted = next;
  }
  /// Takes a connection whose time has come; false if there is none.
  bool take_due(Timestamp now, std::uint32_t& cid) {
    while (!heap_.empty() && heap_.front().at <= now) {
      const Entry entry = pop();
      const auto it = states_.find(entry.cid);
      if (it == states_.end() || it->second.due != entry.at) continue;
      State& state = it.value();
      state.due = kNever;
      if (state.wanted > now) {
        if (state.wanted != kNever) {
          state.due = state.wanted;
          push({state.due, entry.cid});
        }
        continue;
      }
      cid = entry.cid;
      return true;
    }
    return false;
  }
  Timestamp next() const noexcept {
    if (!active_.empty()) return Timestamp::min();
    return heap_.empty() ? kNever : heap_.front().at;
  }
  void forget(std::uint32_t cid) {
    states_.erase(cid);
    skip_forgotten();
  }

 private:
  struct Entry {
    Timestamp at{};
    std::uint32_t cid = 0;
    bool operator>(const Entry& other) const noexcept {
      return at != other.at ? at > other.at : cid > other.cid;
    }
  };
  struct State {
    bool active = false;
    Timestamp due = kNever;     // of the entry in the heap that counts
    Timestamp wanted = kNever;  // what was asked for last
  };
  // Forgotten ones stay in the queue until they reach its front.
  void skip_forgotten() {
    while (!active_.empty() && !states_.contains(active_.front())) active_.pop_front();
  }
  void push(const Entry& entry) {
    heap_.push_back(entry);
    std::ranges::push_heap(heap_, std::greater<>{});
  }
  Entry pop() {
    std::ranges::pop_heap(heap_, std::greater<>{});
    const Entry entry = heap_.back();
    heap_.pop_back();
    return entry;
  }

  base::Fifo<std::uint32_t> active_;
  std::vector<Entry> heap_;
  tsl::robin_map<std::uint32_t, State> states_;
};

}  // namespace longhaul::endpoint
