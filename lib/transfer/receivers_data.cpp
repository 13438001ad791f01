// SPDX-License-Identifier: Apache-2.0
// The life of a chunk at the receiver:
//  1. on_chunk finds the transfer by alias; unknown ones wait in the early store, ended ones count
//  as seen
//  2. ReceiveTransfer places the bytes that were missing and hashes pieces that became complete
//  3. after_placement ends the transfer, asks for damaged pieces again, or notes progress
#include <algorithm>

#include "lib/base/assert.hpp"
#include "lib/transfer/receivers.hpp"

namespace longhaul::transfer {
namespace {
// Layouts that overtook their announcement; far more than can be under way unless the peer
// misbehaves.
constexpr std::size_t kEarlyLayoutsMax = 65536;
constexpr std::size_t kEarlyAllSentMax = 65536;
}  // namespace

bool Receivers::on_layout(Timestamp now, const wire::Layout& frame) {
  if (frame.chunk_size == 0) return false;
  const auto it = by_alias_.find(frame.alias);
  if (it == by_alias_.end()) {
    if (ended_aliases_.contains(frame.alias)) return true;
    if (early_layouts_.size() >= kEarlyLayoutsMax) return false;
    early_layouts_.push_back(frame);
    return true;
  }
  const SlotHandle handle = it->second;
  Entry& entry = *table_.find(handle);
  if (!entry.transfer.add_layout(frame.layout, {frame.chunk_size, frame.first, frame.length}))
    return false;
  if (entry.transfer.has_destination()) {
    replay_early(now, frame.alias);
    if (table_.find(handle) != nullptr && entry.posted) after_placement(now, handle);
  }
  return true;
}

bool Receivers::apply_early_layouts(std::uint32_t alias, Entry& entry) {
  bool valid = true;
  std::erase_if(early_layouts_, [&](const wire::Layout& frame) {
    if (frame.alias != alias) return false;
    valid = valid &&
            entry.transfer.add_layout(frame.layout, {frame.chunk_size, frame.first, frame.length});
    return true;
  });
  return valid;
}

void Receivers::forget_early(std::uint32_t alias) {
  if (!early_.empty()) (void)early_.take(alias);
  std::erase_if(early_layouts_, [&](const wire::Layout& frame) { return frame.alias == alias; });
}

bool Receivers::on_all_sent(Timestamp now, const wire::AllSent& frame, Duration grace) {
  const TransferKey key{frame.tag, frame.n};
  const auto it = by_key_.find(key);
  // It may overtake the announcement it belongs to, also where the receive is posted already.
  if (it == by_key_.end() || !table_.find(it->second)->announced) {
    if (has_ended(key)) return true;
    if (early_all_sent_.size() >= kEarlyAllSentMax) return false;
    early_all_sent_[key] = grace;
    return true;
  }
  Entry& entry = *table_.find(it->second);
  if (entry.give_up_at == kNever && !entry.grace_over)
    give_up_later(now + grace, it->second, entry);
  return true;
}

void Receivers::give_up_later(Timestamp at, SlotHandle handle, Entry& entry) {
  entry.give_up_at = at;
  give_ups_.add(at, handle);
}

Receivers::Fate Receivers::on_chunk(Timestamp now, std::uint32_t alias, std::uint8_t layout,
                                    std::uint32_t index, bool digest, const ChunkBytes& chunk) {
  if (alias != last_alias_) {
    const auto it = by_alias_.find(alias);
    if (it == by_alias_.end()) {
      if (ended_aliases_.contains(alias)) {
        duplicate_bytes_ += chunk.length;
        return Fate::accepted;
      }
      return early_.store(alias, layout, index, digest, chunk) ? Fate::accepted : Fate::refused;
    }
    last_alias_ = alias;
    last_handle_ = it->second;
  }
  const SlotHandle handle = last_handle_;
  Entry* entry = table_.find(handle);
  LONGHAUL_ASSERT(entry != nullptr);
  if (!entry->transfer.has_destination()) return Fate::refused;
  const std::uint64_t verified_before = entry->transfer.verified_bytes();
  const auto result = digest ? entry->transfer.on_digests(index, chunk)
                             : entry->transfer.on_chunk(layout, index, chunk);
  verified_bytes_ += entry->transfer.verified_bytes() - verified_before;
  switch (result) {
    case ReceiveTransfer::Result::duplicate:
      return Fate::accepted;
    case ReceiveTransfer::Result::wrong_size:
      return Fate::malformed;
    case ReceiveTransfer::Result::unknown_layout:
      return early_.store(alias, layout, index, digest, chunk) ? Fate::accepted : Fate::refused;
    case ReceiveTransfer::Result::placed:
      break;
  }
  after_placement(now, handle);
  return Fate::accepted;
}

void Receivers::replay_early(Timestamp now, std::uint32_t alias) {
  if (early_.empty()) return;
  for (const EarlyPacket& packet : early_.take(alias)) {
    // The transfer may end while its packets are replayed.
    const auto it = by_alias_.find(alias);
    if (it == by_alias_.end()) return;
    const ChunkBytes chunk{packet.bytes, packet.length, packet.by_reference};
    (void)on_chunk(now, alias, packet.layout, packet.index, packet.digest, chunk);
  }
}

bool Receivers::may_end_partial(const Entry& entry) const noexcept {
  const std::uint64_t missing = entry.transfer.bytes() - entry.transfer.placed_bytes();
  switch (entry.announcement.reliability) {
    case Reliability::exact:
      return false;
    case Reliability::bounded_loss:
      return missing <= entry.announcement.loss_budget;
    case Reliability::best_effort:
      return true;
  }
  return false;
}

void Receivers::after_placement(Timestamp now, SlotHandle handle) {
  Entry* entry = table_.find(handle);
  if (entry == nullptr) return;
  while (const auto range = entry->transfer.take_refetch()) {
    ++refetched_pieces_;
    context_.control.push(
        now, wire::Refetch{entry->key.tag, entry->key.n, range->begin, range->length()});
  }
  if (entry->transfer.hopeless())
    return end(now, handle, Status::corrupt, "a piece failed its digest three times", true);
  if (!entry->posted) return;
  if (entry->transfer.complete()) return end(now, handle, Status::completed, {}, true);
  if (entry->grace_over && may_end_partial(*entry))
    return end(now, handle, Status::completed_partial, {}, true);
  note(handle, *entry);
}

void Receivers::note(SlotHandle handle, Entry& entry) {
  if (entry.notification_due) return;
  entry.notification_due = true;
  notifications_.push_back(handle);
}

namespace {

PieceEvent piece_event(ConnectionId connection, TransferId id, Tag tag, std::uint64_t cookie,
                       bool verified, base::IntervalSet& ranges) {
  const base::Interval range = ranges.intervals().front();
  ranges.erase(range.begin, range.end);
  return {connection, id, tag, cookie, verified, {range.begin, range.end}};
}

}  // namespace

void Receivers::flush_pieces(Entry& entry) {
  for (base::IntervalSet* ranges :
       {&entry.transfer.newly_placed(), &entry.transfer.newly_verified()})
    while (!ranges->empty())
      context_.events.emplace_back(
          piece_event(context_.connection, entry.id, entry.key.tag, entry.options.cookie,
                      ranges == &entry.transfer.newly_verified(), *ranges));
}

bool Receivers::poll_notification(Event& event) {
  while (!notifications_.empty()) {
    const SlotHandle handle = notifications_.front();
    Entry* entry = table_.find(handle);
    if (entry == nullptr) {
      notifications_.pop_front();
      continue;
    }
    for (base::IntervalSet* ranges :
         {&entry->transfer.newly_placed(), &entry->transfer.newly_verified()}) {
      if (ranges->empty()) continue;
      event = piece_event(context_.connection, entry->id, entry->key.tag, entry->options.cookie,
                          ranges == &entry->transfer.newly_verified(), *ranges);
      return true;
    }
    notifications_.pop_front();
    entry->notification_due = false;
    event =
        ProgressEvent{entry->id, entry->transfer.placed_bytes(), entry->transfer.verified_bytes()};
    return true;
  }
  return false;
}

}  // namespace longhaul::transfer
