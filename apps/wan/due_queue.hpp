// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <queue>
#include <vector>

#include "longhaul/time.hpp"

namespace longhaul::apps::wan {

/// A packet on the line.
struct Packet {
  Timestamp due{};
  std::uint64_t number = 0;  ///< among all of its direction: equal moments keep their order
  std::byte* data = nullptr;
  std::uint32_t bytes = 0;
};

/// Packets by the moment they arrive. What comes in order costs a plain queue; a heap holds the
/// rest, which exists only where packets overtake.
class DueQueue {
 public:
  void push(const Packet& packet) {
    if (in_order_.empty() || packet.due >= in_order_.back().due) {
      in_order_.push_back(packet);
    } else {
      overtaking_.push(packet);
    }
  }
  bool empty() const noexcept { return in_order_.empty() && overtaking_.empty(); }
  /// When the first arrives; kNever if there is none.
  Timestamp first_due() const noexcept { return empty() ? kNever : first().due; }
  /// There is one.
  Packet pop() {
    const Packet packet = first();
    if (heap_first()) {
      overtaking_.pop();
    } else {
      in_order_.pop_front();
    }
    return packet;
  }

 private:
  struct Later {
    bool operator()(const Packet& a, const Packet& b) const noexcept {
      return a.due > b.due || (a.due == b.due && a.number > b.number);
    }
  };
  bool heap_first() const noexcept {
    if (overtaking_.empty()) return false;
    return in_order_.empty() || Later{}(in_order_.front(), overtaking_.top());
  }
  const Packet& first() const noexcept {
    return heap_first() ? overtaking_.top() : in_order_.front();
  }

  std::deque<Packet> in_order_;
  std::priority_queue<Packet, std::vector<Packet>, Later> overtaking_;
};

}  // namespace longhaul::apps::wan
