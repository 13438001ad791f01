// SPDX-License-Identifier: Apache-2.0
#include "lib/io/sim/line.hpp"

#include <algorithm>

namespace longhaul::sim {

Line::Line(const Numbers& numbers, std::uint64_t seed, const netmodel::LinkConfig& config)
    : numbers_(numbers),
      link_(seed, config),
      trace_((std::uint64_t{numbers.from} << 32) | numbers.to) {}

void Line::wait_for_entry(Packet* packet, Timestamp entry, std::size_t header_bytes) {
  entering_.insert_ordered({entry, packet, header_bytes},
                           [](const Entering& a, const Entering& b) { return a.entry < b.entry; });
}

Packet* Line::take_entering() noexcept {
  Packet* packet = entering_.front().packet;
  entering_.pop_front();
  return packet;
}

void Line::fly(Packet* packet, bool in_order) {
  if (in_order && (queue_.empty() || packet->arrival >= queue_.back().arrival)) {
    queue_.push_back({packet->arrival, packet});
    return;
  }
  heap_.push_back({packet->arrival, serial_++, packet});
  std::push_heap(heap_.begin(), heap_.end(), Later{});
}

Timestamp Line::next_arrival() const noexcept {
  const Timestamp queued = queue_.empty() ? kNever : queue_.front().arrival;
  return heap_.empty() ? queued : std::min(queued, heap_.front().arrival);
}

Packet* Line::take_arrived() noexcept {
  if (heap_.empty() || (!queue_.empty() && queue_.front().arrival <= heap_.front().arrival)) {
    Packet* packet = queue_.front().packet;
    queue_.pop_front();
    // Under way they fall out of the cache; in a moment the next ones are touched.
    if (queue_.size() > 4) {
      __builtin_prefetch(queue_[4].packet, 1);
      __builtin_prefetch(queue_[4].packet->inline_bytes.data(), 1);
    }
    return packet;
  }
  std::pop_heap(heap_.begin(), heap_.end(), Later{});
  Packet* packet = heap_.back().packet;
  heap_.pop_back();
  return packet;
}

Timestamp Line::due() const noexcept {
  const Timestamp arrival = next_arrival();
  if (entering_.empty()) return arrival;
  const Entering& first = entering_.front();
  return std::min(arrival,
                  link_.earliest_arrival(first.entry, first.packet->size(), first.header_bytes));
}

}  // namespace longhaul::sim
