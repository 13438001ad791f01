// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/base/fifo.hpp"
#include "lib/transfer/aliases.hpp"
#include "lib/transfer/context.hpp"
#include "lib/transfer/deadlines.hpp"
#include "lib/transfer/send_transfer.hpp"
#include "lib/transfer/slots.hpp"
#include "lib/transfer/tags.hpp"

namespace longhaul::transfer {

/// A packet's worth of a transfer, ready to be written.
struct OutgoingChunk {
  SlotHandle transfer;
  std::uint32_t alias = 0;
  SendChunk chunk;
  const SendTransfer* source = nullptr;
};

/// All sends of one connection: matching, what may start, which goes next, how each ends.
class Senders {
 public:
  Senders(const TransferContext& context, const TransferLimits& own)
      : context_(context), own_(own) {}

  /// The peer's limits are known: eager sends may begin.
  void set_peer_limits(const TransferLimits& peer) noexcept { peer_ = peer; }

  void start(Timestamp now, SendRequest&& request);
  void cancel(Timestamp now, TransferId id);
  void ready(TransferId id, std::uint64_t bytes);

  // What the peer says. False: it broke the protocol.
  [[nodiscard]] bool on_posted(Timestamp now, const wire::Posted& frame);
  [[nodiscard]] bool on_receive_end(Timestamp now, const wire::ReceiveEnd& frame);
  [[nodiscard]] bool on_refetch(const wire::Refetch& frame);

  void on_packet_lost(SlotHandle transfer, bool digest, std::uint8_t layout, std::uint32_t index);

  bool has_work(TrafficClass traffic_class) const noexcept;
  enum class Next : std::uint8_t { nothing, chunk, control };
  /// The next chunk of a class; `control` means that frames were queued which must leave before it.
  Next next(Timestamp now, TrafficClass traffic_class, std::uint32_t payload_max,
            OutgoingChunk& out);

  /// `verdict_wait`: how long a send that may lose waits beyond its deadline for the receiver's
  /// word.
  void handle_timeout(Timestamp now, Duration verdict_wait);
  Timestamp next_timeout() const noexcept { return deadlines_.next(); }
  void end_all(Status status, std::string_view reason);
  /// Next coalesced progress notification, if any.
  bool poll_progress(ProgressEvent& event);

  std::size_t outstanding() const noexcept { return table_.size(); }
  bool waits_for_receiver() const noexcept { return waiting_ > 0; }
  std::uint64_t bytes_left_once() const noexcept { return bytes_left_once_; }
  std::uint64_t bytes_sent_again() const noexcept { return bytes_sent_again_; }
  void dump(Timestamp now, std::vector<std::string>& lines) const;

 private:
  struct Entry {
    explicit Entry(SendTransfer&& value) : transfer(std::move(value)) {}
    SendTransfer transfer;
    Timestamp started_at{};
    Timestamp deadline = kNever;
    std::uint64_t schema = 0;
    std::uint64_t eager_bytes = 0;  // charged to the peer's eager budget
    std::uint32_t eager_losses = 0;
    bool waiting = false;  // for a posted receive
    bool queued = false;
    bool told_all_sent = false;
    bool verdict_asked = false;
    bool progress_noted = false;
  };
  struct Advertised {
    std::uint64_t bytes = 0;
    std::uint64_t schema = 0;
  };

  void announce(Timestamp now, const Entry& entry, const SendRequest& request);
  void enqueue(SlotHandle handle, bool front);
  void begin(SlotHandle handle, Entry& entry);
  void hold(Entry& entry);
  void end(SlotHandle handle, Status status, std::string_view reason);
  void end_with_word(Timestamp now, SlotHandle handle, Status status, std::string_view reason);
  void reject(const SendRequest& request, Status status, std::string_view reason);
  Next after_chunk(Timestamp now, SlotHandle handle, Entry& entry, const OutgoingChunk& out);
  base::Fifo<SlotHandle>& queue(TrafficClass c) { return queues_[static_cast<std::size_t>(c)]; }

  static constexpr std::size_t kFailedMax = 262144;

  TransferContext context_;
  TransferLimits own_;
  TransferLimits peer_;
  SlotTable<Entry> table_;
  std::unordered_map<TransferKey, SlotHandle, TransferKeyHash> by_key_;
  std::unordered_map<TransferId, SlotHandle> by_id_;
  std::unordered_map<TransferKey, Advertised, TransferKeyHash> advertised_;
  Tags tags_;
  Endings failed_{kFailedMax};  // of ours, for a peer that could not keep our word of it
  std::array<base::Fifo<SlotHandle>, kTrafficClasses> queues_;
  Deadlines deadlines_;
  base::Fifo<SlotHandle> progress_;
  Aliases aliases_;
  std::uint64_t eager_outstanding_ = 0;
  std::size_t waiting_ = 0;
  std::uint64_t bytes_left_once_ = 0;
  std::uint64_t bytes_sent_again_ = 0;
};

}  // namespace longhaul::transfer
