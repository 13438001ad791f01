// SPDX-License-Identifier: Apache-2.0
#include "lib/recovery/reliable_frames.hpp"

#include <algorithm>

#include "lib/base/assert.hpp"

namespace longhaul::recovery {

void ReliableFrames::push(Timestamp now, const wire::Frame& frame) {
  std::uint32_t index = 0;
  if (free_entries_.empty()) {
    index = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    index = free_entries_.back();
    free_entries_.pop_back();
  }
  Entry& entry = entries_[index];
  entry.size = static_cast<std::uint16_t>(wire::write_frame(frame, entry.short_bytes));
  if (entry.size == 0) {
    if (!entry.long_bytes)
      entry.long_bytes = std::make_unique<std::array<std::byte, kFrameBytesMax>>();
    entry.size = static_cast<std::uint16_t>(wire::write_frame(frame, *entry.long_bytes));
  }
  LONGHAUL_ASSERT(entry.size > 0);
  ++entry.generation;
  entry.copies = 0;
  entry.sequence = next_sequence_++;
  entry.last_carrier = UINT32_MAX;
  entry.live = true;
  ++live_;
  schedule(index, now);
}

void ReliableFrames::schedule(std::uint32_t index, Timestamp at) {
  entries_[index].due = at;
  heap_.push_back({at, entries_[index].sequence, {index, entries_[index].generation}});
  std::ranges::push_heap(heap_, std::less<>{});
}

bool ReliableFrames::current(const Due& due) const noexcept {
  const Entry& entry = entries_[due.frame.entry];
  return entry.live && entry.generation == due.frame.generation && entry.due == due.at;
}

void ReliableFrames::drop_stale() noexcept {
  while (!heap_.empty() && !current(heap_.front())) {
    std::ranges::pop_heap(heap_, std::less<>{});
    heap_.pop_back();
  }
}

Timestamp ReliableFrames::next_due() const noexcept {
  // Stale entries on top only make a wake-up early; write_due clears them.
  return live_ == 0 || heap_.empty() ? kNever : heap_.front().at;
}

std::size_t ReliableFrames::write_due(Timestamp now, std::span<std::byte> out,
                                      const RepeatTiming& timing, std::uint32_t& carrier) {
  std::size_t written = 0;
  bool opened = false;
  for (drop_stale(); !heap_.empty() && heap_.front().at <= now; drop_stale()) {
    const std::uint32_t index = heap_.front().frame.entry;
    const std::size_t size = entries_[index].size;
    if (written + size > out.size()) break;
    std::ranges::copy(entries_[index].bytes(), out.data() + written);
    written += size;
    std::ranges::pop_heap(heap_, std::less<>{});
    heap_.pop_back();
    if (!opened) carrier = new_carrier();
    opened = true;
    Entry& entry = entries_[index];
    carriers_[carrier].frames.push_back({index, entry.generation});
    entry.last_carrier = carrier;
    const Duration wait = entry.copies == 0
                              ? timing.early
                              : timing.retry * (1 << std::min<std::uint32_t>(entry.copies - 1, 10));
    ++entry.copies;
    schedule(index, now + std::min(wait, timing.interval_max));
  }
  return written;
}

std::uint32_t ReliableFrames::new_carrier() {
  if (free_carriers_.empty()) {
    free_carriers_.push_back(static_cast<std::uint32_t>(carriers_.size()));
    carriers_.emplace_back();
  }
  const std::uint32_t carrier = free_carriers_.back();
  free_carriers_.pop_back();
  carriers_[carrier].live = true;
  return carrier;
}

void ReliableFrames::release(std::uint32_t carrier) {
  carriers_[carrier].frames.clear();
  carriers_[carrier].live = false;
  free_carriers_.push_back(carrier);
}

bool ReliableFrames::is_live(std::uint32_t carrier) const noexcept {
  const bool live = carrier < carriers_.size() && carriers_[carrier].live;
  LONGHAUL_ASSERT(live);
  return live;
}

void ReliableFrames::on_carrier_acked(std::uint32_t carrier) {
  if (!is_live(carrier)) return;
  for (const Reference& frame : carriers_[carrier].frames) {
    Entry& entry = entries_[frame.entry];
    if (!entry.live || entry.generation != frame.generation) continue;
    entry.live = false;
    --live_;
    free_entries_.push_back(frame.entry);
  }
  release(carrier);
  drop_stale();
}

void ReliableFrames::on_carrier_lost(Timestamp now, std::uint32_t carrier) {
  if (!is_live(carrier)) return;
  for (const Reference& frame : carriers_[carrier].frames) {
    const Entry& entry = entries_[frame.entry];
    if (!entry.live || entry.generation != frame.generation) continue;
    if (entry.last_carrier == carrier && entry.due > now) schedule(frame.entry, now);
  }
  release(carrier);
}

}  // namespace longhaul::recovery
