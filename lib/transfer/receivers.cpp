// SPDX-License-Identifier: Apache-2.0
// Requests of the application and what the peer's frames do to them. Data packets:
// receivers_data.cpp.
#include "lib/transfer/receivers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/assert.hpp"
#include "lib/base/plain_text.hpp"
#include "lib/transfer/refusal.hpp"
#include "lib/transfer/schema.hpp"

namespace longhaul::transfer {

void Receivers::reject(const ReceiveRequest& request, Status status, std::string_view reason) {
  context_.events.emplace_back(refusal(request, status, reason));
}

void Receivers::start(Timestamp now, ReceiveRequest&& request) {
  // Announcements nobody has posted a receive for are counted apart: they must not keep out the
  // receives that would take them.
  if (by_id_.size() >= own_.transfers_max)
    return reject(request, Status::refused,
                  "transfers_max receives are outstanding already; wait for some or raise it");
  const std::uint64_t n = tags_.take_next(request.tag);
  if (const Status ended = tags_.take_ended(request.tag, n); ended != Status::pending)
    return reject(request, ended, "the peer's send of this tag had already ended");

  const TransferKey key{request.tag, n};
  SlotHandle handle;
  if (const auto it = by_key_.find(key); it != by_key_.end()) {
    handle = it->second;
  } else {
    handle = table_.insert(std::make_unique<Entry>(own_.payload_mode));
    by_key_[key] = handle;
  }
  Entry& entry = *table_.find(handle);
  entry.key = key;
  entry.posted = true;
  entry.id = request.transfer;
  entry.options = request.options;
  entry.started_at = now;
  entry.schema = schema_of(request.segments);
  entry.segments = std::move(request.segments);
  for (const ReceiveSegment& segment : entry.segments) entry.posted_bytes += segment.bytes.size();
  by_id_[entry.id] = handle;
  if (entry.options.deadline) {
    entry.deadline = now + *entry.options.deadline;
    deadlines_.add(entry.deadline, handle);
  }
  // What is held eagerly and whole needs no word; the rest of one held in part may wait for it.
  if (!entry.announced || entry.eager_bytes == 0 || !entry.transfer.complete())
    context_.control.push(now, wire::Posted{key.tag, key.n, entry.posted_bytes, entry.schema});
  if (entry.announced) match(now, handle);
}

std::string Receivers::mismatch(const Entry& entry) const {
  const wire::Transfer& theirs = entry.announcement;
  if (theirs.schema == entry.schema && theirs.bytes == entry.posted_bytes) return {};
  const auto& first = entry.segments.front();
  if (theirs.count != entry.segments.size())
    return fmt::format("peer sends a list of {} tensors, the posted receive has {}", theirs.count,
                       entry.segments.size());
  return fmt::format("peer sends {}[{}] ({} bytes), the posted receive is {}[{}] ({} bytes)",
                     to_string(theirs.dtype), to_string(theirs.shape), theirs.bytes,
                     to_string(first.dtype), to_string(first.shape), entry.posted_bytes);
}

void Receivers::match(Timestamp now, SlotHandle handle) {
  Entry& entry = *table_.find(handle);
  if (const std::string difference = mismatch(entry); !difference.empty())
    return end(now, handle, Status::refused, difference, true);
  DestinationMemory memory;
  for (const ReceiveSegment& segment : entry.segments) memory.add(segment.bytes);
  entry.transfer.set_destination(std::move(memory));
  eager_held_ -= entry.eager_bytes;
  entry.eager_bytes = 0;
  entry.matched = true;
  ++matched_;
  if (entry.options.piece_events) entry.transfer.report_pieces();
  note(handle, entry);
  replay_early(now, entry.announcement.alias);
  after_placement(now, handle);
}

void Receivers::cancel(Timestamp now, TransferId id) {
  const auto it = by_id_.find(id);
  if (it == by_id_.end()) return;
  end(now, it->second, Status::cancelled, "cancelled by the receiver", true);
}

void Receivers::refuse_announcement(Timestamp now, const wire::Transfer& frame,
                                    std::string_view reason) {
  context_.control.push(now, wire::ReceiveEnd{frame.tag, frame.n, Status::refused, 0, reason});
  ended_aliases_.add(frame.alias);
  forget_early(frame.alias);
  early_all_sent_.erase({frame.tag, frame.n});
  note_ended_by_peer(frame.tag, frame.n, Status::refused);
}

// What the application has not asked for yet. Beyond so many intervals nothing more is remembered:
// a late copy of the announcement is then one more that waits, and those are counted.
void Receivers::note_ended_by_peer(Tag tag, std::uint64_t n, Status status) {
  tags_.note_ended(tag, n, status);
  const auto it = ended_.find(tag);
  const bool joins = it != ended_.end() && (it->second.contains(n + 1) || it->second.contains(n) ||
                                            (n > 0 && it->second.contains(n - 1)));
  if (!joins) {
    if (ended_by_peer_ >= kEndedByPeerMax) return;
    ++ended_by_peer_;
  }
  ended_[tag].insert(n, n + 1);
}

bool Receivers::has_ended(const TransferKey& key) const {
  const auto it = ended_.find(key.tag);
  return it != ended_.end() && it->second.contains(key.n);
}

bool Receivers::on_transfer(Timestamp now, const wire::Transfer& frame) {
  if (frame.piece_log2 < kPieceLog2Min || frame.piece_log2 > kPieceLog2Max || frame.count == 0)
    return false;
  if (context_.unconfirmed_overflow(own_)) return false;
  const TransferKey key{frame.tag, frame.n};
  if (const auto it = by_alias_.find(frame.alias); it != by_alias_.end())
    return table_.find(it->second)->key == key;  // a repeat, or a contradiction
  ended_aliases_.on_announced(frame.alias);
  if (has_ended(key)) {
    ended_aliases_.add(frame.alias);
    forget_early(frame.alias);
    if (const Status status = failed_.find(frame.tag, frame.n); status != Status::pending)
      context_.control.push(now,
                            wire::ReceiveEnd{frame.tag, frame.n, status, 0, "the receive is over"});
    return true;
  }
  SlotHandle handle;
  if (const auto it = by_key_.find(key); it != by_key_.end()) {
    handle = it->second;
    if (table_.find(handle)->announced) return false;
  } else {
    if (table_.size() - by_id_.size() >= own_.transfers_max) {
      refuse_announcement(now, frame, "receiver's transfers_max announcements are waiting already");
      return true;
    }
    handle = table_.insert(std::make_unique<Entry>(own_.payload_mode));
    by_key_[key] = handle;
  }
  Entry& entry = *table_.find(handle);
  entry.key = key;
  entry.announced = true;
  entry.announcement = frame;
  entry.transfer.set_announcement(frame);
  if (!entry.posted) entry.started_at = now;
  by_alias_[frame.alias] = handle;
  if (const auto all_sent = early_all_sent_.extract(key))
    give_up_later(now + all_sent.mapped(), handle, entry);
  if (!apply_early_layouts(frame.alias, entry)) return false;
  if (entry.posted) {
    match(now, handle);
  } else if (frame.eager && frame.bytes <= own_.eager_max &&
             eager_held_ + frame.bytes <= own_.eager_budget) {
    entry.eager_bytes = frame.bytes;
    eager_held_ += frame.bytes;
    entry.transfer.hold_eagerly();
    replay_early(now, frame.alias);
  }
  return true;
}

bool Receivers::on_send_end(Timestamp now, const wire::SendEnd& frame) {
  if (!is_terminal(frame.status) || frame.status == Status::completed) return false;
  const auto it = by_key_.find({frame.tag, frame.n});
  // A receive posted since then had no room to be told at once (Endings).
  if (it == by_key_.end() && has_ended({frame.tag, frame.n})) return true;
  early_all_sent_.erase({frame.tag, frame.n});
  if (it != by_key_.end() && table_.find(it->second)->posted) {
    const Entry& entry = *table_.find(it->second);
    const bool asked = entry.announced && frame.status == Status::timed_out &&
                       entry.announcement.reliability != Reliability::exact;
    const bool enough = asked && may_end_partial(entry);
    end(now, it->second, enough ? Status::completed_partial : frame.status,
        base::plain_text(frame.reason, wire::kReasonBytesMax), asked);
    return true;
  }
  if (it != by_key_.end()) discard(it->second);
  note_ended_by_peer(frame.tag, frame.n, frame.status);
  return true;
}

void Receivers::discard(SlotHandle handle) {
  const Entry& entry = *table_.find(handle);
  if (entry.announced) {
    by_alias_.erase(entry.announcement.alias);
    ended_aliases_.add(entry.announcement.alias);
    forget_early(entry.announcement.alias);
    if (entry.announcement.alias == last_alias_) last_alias_ = UINT32_MAX;
  }
  eager_held_ -= entry.eager_bytes;
  if (entry.matched) --matched_;
  if (entry.deadline != kNever) deadlines_.remove(entry.deadline, handle);
  if (entry.give_up_at != kNever) give_ups_.remove(entry.give_up_at, handle);
  if (entry.posted) by_id_.erase(entry.id);
  early_all_sent_.erase(entry.key);
  by_key_.erase(entry.key);
  table_.erase(handle);
}

void Receivers::end(Timestamp now, SlotHandle handle, Status status, std::string_view reason,
                    bool tell_peer) {
  Entry& entry = *table_.find(handle);
  const std::string kept_reason(reason);
  if (tell_peer)
    context_.control.push(now, wire::ReceiveEnd{entry.key.tag, entry.key.n, status,
                                                entry.transfer.placed_bytes(), kept_reason});
  ended_[entry.key.tag].insert(entry.key.n, entry.key.n + 1);
  if (entry.posted && status != Status::completed && status != Status::completed_partial)
    (void)failed_.note(entry.key.tag, entry.key.n, status);
  if (entry.posted) {
    flush_pieces(entry);
    TransferEvent event;
    event.connection = context_.connection;
    event.transfer = entry.id;
    event.tag = entry.key.tag;
    event.cookie = entry.options.cookie;
    event.status = status;
    event.bytes = entry.posted_bytes;
    event.reason = kept_reason;
    if (status == Status::completed_partial)
      for (const base::Interval& run : entry.transfer.placed().intervals())
        event.received.push_back({run.begin, run.end});
    context_.events.emplace_back(std::move(event));
  } else {
    tags_.note_ended(entry.key.tag, entry.key.n, status);
  }
  duplicate_bytes_ += entry.transfer.duplicate_bytes();
  discard(handle);
}

void Receivers::end_all(Status status, std::string_view reason) {
  for (const SlotHandle handle : table_.handles()) end(Timestamp{}, handle, status, reason, false);
}

Timestamp Receivers::next_timeout() const noexcept {
  return std::min(deadlines_.next(), give_ups_.next());
}

void Receivers::handle_timeout(Timestamp now) {
  while (give_ups_.next() <= now) {
    const SlotHandle handle = give_ups_.first();
    give_ups_.pop();
    Entry& entry = *table_.find(handle);
    entry.give_up_at = kNever;
    entry.grace_over = true;
    after_placement(now, handle);
  }
  while (deadlines_.next() <= now) {
    const SlotHandle handle = deadlines_.first();
    Entry& entry = *table_.find(handle);
    entry.grace_over = true;
    if (entry.announced && may_end_partial(entry))
      end(now, handle, Status::completed_partial, "deadline passed", true);
    else
      end(now, handle, Status::timed_out,
          entry.announced ? "deadline of the receive passed"
                          : "deadline passed: the peer sent nothing for this receive",
          true);
  }
}

void Receivers::dump(Timestamp now, std::vector<std::string>& lines) const {
  for (const SlotHandle handle : table_.handles()) {
    const Entry& entry = *table_.find(handle);
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - entry.started_at);
    const std::uint64_t bytes = entry.announced ? entry.transfer.bytes() : entry.posted_bytes;
    const char* state = !entry.announced ? "waiting for the sender"
                        : !entry.posted  ? "waiting for a posted receive"
                                         : "receiving";
    lines.push_back(fmt::format("receive tag={} n={} bytes={} missing={} age_ms={} state={}",
                                entry.key.tag, entry.key.n, bytes,
                                bytes - entry.transfer.verified_bytes(), age.count(), state));
  }
}

}  // namespace longhaul::transfer
