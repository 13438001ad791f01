// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/senders.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/assert.hpp"
#include "lib/base/plain_text.hpp"
#include "lib/transfer/refusal.hpp"
#include "lib/transfer/schema.hpp"

namespace longhaul::transfer {
namespace {
// Advertisements kept beyond what the peer can have posted: of receives that have ended there, with
// the word of it still on its way.
constexpr std::size_t kEndedAdvertisementsMax = 65536;
constexpr std::uint32_t kAdvertisementsMax = 1 << 20;
// An eager send all of whose packets were lost this many times over meets a budget that the peer
// has not got back yet, not a line: it waits for its receive like a larger one.
constexpr std::uint64_t kEagerRoundsMax = 3;
constexpr std::uint64_t kPacketBytesMin = 1024;
}  // namespace

void Senders::reject(const SendRequest& request, Status status, std::string_view reason) {
  context_.events.emplace_back(refusal(request, status, reason));
}

void Senders::start(Timestamp now, SendRequest&& request) {
  if (table_.size() >= own_.transfers_max)
    return reject(
        request, Status::refused,
        "transfers_max sends are outstanding already; wait for some or raise transfers_max");
  const std::uint64_t n = tags_.take_next(request.tag);
  if (const Status ended = tags_.take_ended(request.tag, n); ended != Status::pending)
    return reject(request, ended, "the peer's receive of this tag had already ended");

  const std::uint32_t alias = aliases_.take();
  SendRequest kept = request;
  auto entry =
      std::make_unique<Entry>(SendTransfer(std::move(request), n, alias, own_.payload_mode));
  entry->started_at = now;
  entry->schema = schema_of(kept.segments);
  if (kept.options.deadline) entry->deadline = now + *kept.options.deadline;

  const TransferKey key{kept.tag, n};
  bool held = true;
  if (const auto it = advertised_.find(key); it != advertised_.end()) {
    // A mismatch is the receiver's to refuse; its answer ends both sides.
    held = it->second.schema != entry->schema;
    advertised_.erase(it);
  } else if (entry->transfer.bytes() <= peer_.eager_max &&
             eager_outstanding_ + entry->transfer.bytes() <= peer_.eager_budget) {
    held = false;
    entry->eager_bytes = entry->transfer.bytes();
    eager_outstanding_ += entry->eager_bytes;
  }
  entry->waiting = held;
  if (held) ++waiting_;
  const TransferId id = kept.transfer;
  Entry& reference = *entry;
  const SlotHandle handle = table_.insert(std::move(entry));
  by_key_[key] = handle;
  by_id_[id] = handle;
  if (reference.deadline != kNever) deadlines_.add(reference.deadline, handle);
  announce(now, reference, kept);
  if (!held) begin(handle, reference);
}

void Senders::announce(Timestamp now, const Entry& entry, const SendRequest& request) {
  wire::Transfer frame;
  frame.alias = entry.transfer.alias();
  frame.tag = entry.transfer.tag();
  frame.n = entry.transfer.n();
  frame.bytes = entry.transfer.bytes();
  frame.growing = request.options.growing;
  frame.list = request.segments.size() != 1;
  frame.eager = entry.eager_bytes > 0 || !entry.waiting;
  frame.traffic_class = request.options.traffic_class;
  frame.reliability = request.options.reliability;
  frame.loss_budget = request.options.loss_budget;
  frame.piece_log2 = entry.transfer.piece_log2();
  frame.schema = entry.schema;
  frame.count = request.segments.size();
  if (!request.segments.empty()) {
    frame.dtype = request.segments.front().dtype;
    frame.shape = request.segments.front().shape;
  }
  context_.control.push(now, frame);
}

void Senders::begin(SlotHandle handle, Entry& entry) {
  if (entry.waiting) {
    entry.waiting = false;
    --waiting_;
  }
  if (!entry.transfer.idle()) enqueue(handle, false);
}

// Back to waiting for a posted receive, after an eager beginning.
void Senders::hold(Entry& entry) {
  eager_outstanding_ -= entry.eager_bytes;
  entry.eager_bytes = 0;
  entry.waiting = true;
  ++waiting_;
}

void Senders::enqueue(SlotHandle handle, bool front) {
  Entry* entry = table_.find(handle);
  if (entry == nullptr || entry->queued || entry->waiting) return;
  entry->queued = true;
  auto& line = queue(entry->transfer.options().traffic_class);
  if (front)
    line.push_front(handle);
  else
    line.push_back(handle);
}

void Senders::ready(TransferId id, std::uint64_t bytes) {
  const auto it = by_id_.find(id);
  if (it == by_id_.end()) return;
  Entry* entry = table_.find(it->second);
  entry->transfer.set_ready(bytes);
  if (!entry->transfer.idle()) enqueue(it->second, false);
}

void Senders::cancel(Timestamp now, TransferId id) {
  const auto it = by_id_.find(id);
  if (it == by_id_.end()) return;
  end_with_word(now, it->second, Status::cancelled, "cancelled by the sender");
}

void Senders::end_with_word(Timestamp now, SlotHandle handle, Status status,
                            std::string_view reason) {
  const Entry* entry = table_.find(handle);
  context_.control.push(now,
                        wire::SendEnd{entry->transfer.tag(), entry->transfer.n(), status, reason});
  end(handle, status, reason);
}

void Senders::end(SlotHandle handle, Status status, std::string_view reason) {
  Entry* entry = table_.find(handle);
  LONGHAUL_ASSERT(entry != nullptr);
  TransferEvent event;
  event.connection = context_.connection;
  event.transfer = entry->transfer.id();
  event.tag = entry->transfer.tag();
  event.cookie = entry->transfer.options().cookie;
  event.status = status;
  event.bytes = entry->transfer.bytes();
  event.reason = reason;
  context_.events.emplace_back(std::move(event));

  if (status != Status::completed && status != Status::completed_partial)
    (void)failed_.note(entry->transfer.tag(), entry->transfer.n(), status);
  eager_outstanding_ -= entry->eager_bytes;
  if (entry->waiting) --waiting_;
  if (entry->deadline != kNever) deadlines_.remove(entry->deadline, handle);
  by_key_.erase({entry->transfer.tag(), entry->transfer.n()});
  by_id_.erase(entry->transfer.id());
  aliases_.release(entry->transfer.alias());
  table_.erase(handle);
}

bool Senders::on_posted(Timestamp now, const wire::Posted& frame) {
  const TransferKey key{frame.tag, frame.n};
  if (const auto it = by_key_.find(key); it != by_key_.end()) {
    Entry* entry = table_.find(it->second);
    eager_outstanding_ -= entry->eager_bytes;
    entry->eager_bytes = 0;
    if (entry->waiting && entry->schema == frame.schema) begin(it->second, *entry);
    return true;
  }
  if (frame.n < tags_.next(frame.tag)) {
    // A repeat of what has met its send, or a receive whose send is over.
    if (context_.unconfirmed_overflow(own_)) return false;
    if (const Status status = failed_.find(frame.tag, frame.n); status != Status::pending)
      context_.control.push(now, wire::SendEnd{frame.tag, frame.n, status, "the send is over"});
    return true;
  }
  if (tags_.has_ended(frame.tag, frame.n)) return true;  // a repeat, behind the end it met
  // The peer chooses its transfers_max, and what we keep for it must not be its choice alone.
  if (advertised_.size() >=
      std::min(peer_.transfers_max, kAdvertisementsMax) + kEndedAdvertisementsMax)
    return false;
  advertised_[key] = {frame.bytes, frame.schema};
  return true;
}

bool Senders::on_receive_end(Timestamp, const wire::ReceiveEnd& frame) {
  if (!is_terminal(frame.status)) return false;
  if (const auto it = by_key_.find({frame.tag, frame.n}); it != by_key_.end()) {
    const Entry* entry = table_.find(it->second);
    if (frame.status == Status::completed && frame.bytes != entry->transfer.bytes()) return false;
    end(it->second, frame.status, base::plain_text(frame.reason, wire::kReasonBytesMax));
    return true;
  }
  if (frame.n < tags_.next(frame.tag)) return true;
  // What has not been sent cannot have arrived.
  if (frame.status == Status::completed || frame.status == Status::completed_partial) return false;
  advertised_.erase({frame.tag, frame.n});
  tags_.note_ended(frame.tag, frame.n, frame.status);
  return true;
}

bool Senders::on_refetch(const wire::Refetch& frame) {
  const auto it = by_key_.find({frame.tag, frame.n});
  if (it == by_key_.end()) return true;
  if (!table_.find(it->second)->transfer.refetch(frame.first, frame.length)) return false;
  enqueue(it->second, true);
  return true;
}

void Senders::on_packet_lost(SlotHandle handle, bool digest, std::uint8_t layout,
                             std::uint32_t index) {
  Entry* entry = table_.find(handle);
  if (entry == nullptr) return;
  entry->transfer.on_lost(digest, layout, index);
  if (entry->eager_bytes > 0 &&
      ++entry->eager_losses > kEagerRoundsMax * (2 + entry->transfer.bytes() / kPacketBytesMin))
    hold(*entry);
  if (!entry->transfer.idle()) enqueue(handle, true);
}

bool Senders::has_work(TrafficClass traffic_class) const noexcept {
  return !queues_[static_cast<std::size_t>(traffic_class)].empty();
}

Senders::Next Senders::next(Timestamp now, TrafficClass traffic_class, std::uint32_t payload_max,
                            OutgoingChunk& out) {
  auto& line = queue(traffic_class);
  while (!line.empty()) {
    const SlotHandle handle = line.front();
    Entry* entry = table_.find(handle);
    if (entry == nullptr || entry->waiting) {
      if (entry != nullptr) entry->queued = false;
      line.pop_front();
      continue;
    }
    switch (entry->transfer.next(payload_max, out.chunk)) {
      case SendTransfer::Next::chunk:
        out.transfer = handle;
        out.alias = entry->transfer.alias();
        out.source = &entry->transfer;
        return after_chunk(now, handle, *entry, out);
      case SendTransfer::Next::new_layout: {
        const Layout& layout = entry->transfer.announced();
        context_.control.push(
            now, wire::Layout{entry->transfer.alias(), entry->transfer.announced_number(),
                              layout.chunk_size, layout.first, layout.length});
        return Next::control;
      }
      case SendTransfer::Next::exhausted:
        line.pop_front();
        end_with_word(now, handle, Status::internal, "the path MTU changed too often");
        break;
      case SendTransfer::Next::nothing:
        line.pop_front();
        entry->queued = false;
        break;
    }
  }
  return Next::nothing;
}

Senders::Next Senders::after_chunk(Timestamp now, SlotHandle handle, Entry& entry,
                                   const OutgoingChunk& out) {
  if (!out.chunk.digest)
    (out.chunk.first_copy ? bytes_left_once_ : bytes_sent_again_) += out.chunk.length;
  if (!entry.progress_noted) {
    entry.progress_noted = true;
    progress_.push_back(handle);
  }
  if (entry.transfer.options().reliability != Reliability::exact && !entry.told_all_sent &&
      entry.transfer.all_left_once()) {
    entry.told_all_sent = true;
    context_.control.push(now, wire::AllSent{entry.transfer.tag(), entry.transfer.n()});
  }
  return Next::chunk;
}

void Senders::handle_timeout(Timestamp now, Duration verdict_wait) {
  while (deadlines_.next() <= now) {
    const SlotHandle handle = deadlines_.first();
    Entry* entry = table_.find(handle);
    const bool may_be_enough = entry->transfer.options().reliability != Reliability::exact;
    if (may_be_enough && !entry->waiting && !entry->verdict_asked) {
      // The receiver knows whether what it has is enough; its word ends both sides.
      entry->verdict_asked = true;
      deadlines_.pop();
      entry->deadline = now + verdict_wait;
      deadlines_.add(entry->deadline, handle);
      context_.control.push(now, wire::SendEnd{entry->transfer.tag(), entry->transfer.n(),
                                               Status::timed_out, "deadline of the send passed"});
      continue;
    }
    if (entry->verdict_asked)
      end(handle, Status::timed_out, "deadline passed, and the receiver did not say what it has");
    else
      end_with_word(now, handle, Status::timed_out,
                    entry->waiting ? "deadline passed: the peer posted no receive"
                                   : "deadline of the send passed");
  }
}

void Senders::end_all(Status status, std::string_view reason) {
  for (const SlotHandle handle : table_.handles()) end(handle, status, reason);
  advertised_.clear();
}

bool Senders::poll_progress(ProgressEvent& event) {
  while (!progress_.empty()) {
    const SlotHandle handle = progress_.front();
    progress_.pop_front();
    Entry* entry = table_.find(handle);
    if (entry == nullptr) continue;
    entry->progress_noted = false;
    event = {entry->transfer.id(), entry->transfer.left_once(), 0};
    return true;
  }
  return false;
}

void Senders::dump(Timestamp now, std::vector<std::string>& lines) const {
  for (const SlotHandle handle : table_.handles()) {
    const Entry& entry = *table_.find(handle);
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - entry.started_at);
    lines.push_back(fmt::format("send tag={} n={} bytes={} left_once={} age_ms={} state={}",
                                entry.transfer.tag(), entry.transfer.n(), entry.transfer.bytes(),
                                entry.transfer.left_once(), age.count(),
                                entry.waiting ? "waiting for a posted receive" : "sending"));
  }
}

}  // namespace longhaul::transfer
