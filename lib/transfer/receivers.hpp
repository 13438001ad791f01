// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/base/fifo.hpp"
#include "lib/base/interval_set.hpp"
#include "lib/transfer/aliases.hpp"
#include "lib/transfer/context.hpp"
#include "lib/transfer/deadlines.hpp"
#include "lib/transfer/early_packets.hpp"
#include "lib/transfer/receive_transfer.hpp"
#include "lib/transfer/slots.hpp"
#include "lib/transfer/tags.hpp"

namespace longhaul::transfer {

/// All receives of one connection: matching, placement, verification, how each ends.
class Receivers {
 public:
  Receivers(const TransferContext& context, const TransferLimits& own)
      : context_(context), own_(own) {}

  void start(Timestamp now, ReceiveRequest&& request);
  void cancel(Timestamp now, TransferId id);

  // What the peer says. False: it broke the protocol.
  [[nodiscard]] bool on_transfer(Timestamp now, const wire::Transfer& frame);
  [[nodiscard]] bool on_layout(Timestamp now, const wire::Layout& frame);
  [[nodiscard]] bool on_send_end(Timestamp now, const wire::SendEnd& frame);
  [[nodiscard]] bool on_all_sent(Timestamp now, const wire::AllSent& frame, Duration grace);

  /// Fate of an arrived chunk or digest packet. Only `accepted` may be acknowledged; `refused`
  /// counts as never received; `malformed` is dropped.
  enum class Fate : std::uint8_t { accepted, refused, malformed };
  Fate on_chunk(Timestamp now, std::uint32_t alias, std::uint8_t layout, std::uint32_t index,
                bool digest, const ChunkBytes& chunk);

  void handle_timeout(Timestamp now);
  Timestamp next_timeout() const noexcept;
  void end_all(Status status, std::string_view reason);
  /// Next coalesced piece or progress notification, if any.
  bool poll_notification(Event& event);

  std::size_t outstanding() const noexcept { return table_.size(); }
  /// Some transfer is known to both sides and not complete.
  bool expects_data() const noexcept { return matched_ > 0; }
  std::uint64_t verified_bytes() const noexcept { return verified_bytes_; }
  std::uint64_t duplicate_bytes() const noexcept { return duplicate_bytes_; }
  std::uint32_t refetched_pieces() const noexcept { return refetched_pieces_; }
  void dump(Timestamp now, std::vector<std::string>& lines) const;

 private:
  struct Entry {
    explicit Entry(base::PayloadMode mode) : transfer(mode) {}
    ReceiveTransfer transfer;
    TransferKey key;
    Timestamp started_at{};
    // ours, once posted
    bool posted = false;
    bool matched = false;
    TransferId id = 0;
    ReceiveOptions options;
    Timestamp deadline = kNever;
    std::uint64_t posted_bytes = 0;
    std::uint64_t schema = 0;
    std::vector<ReceiveSegment> segments;
    // the peer's, once announced
    bool announced = false;
    wire::Transfer announcement;
    std::uint64_t eager_bytes = 0;  // held for it by us
    // classes that may lose
    Timestamp give_up_at = kNever;
    bool grace_over = false;
    bool notification_due = false;
  };

  void match(Timestamp now, SlotHandle handle);
  std::string mismatch(const Entry& entry) const;
  [[nodiscard]] bool apply_early_layouts(std::uint32_t alias, Entry& entry);
  void replay_early(Timestamp now, std::uint32_t alias);
  void forget_early(std::uint32_t alias);
  bool has_ended(const TransferKey& key) const;
  void give_up_later(Timestamp at, SlotHandle handle, Entry& entry);
  void after_placement(Timestamp now, SlotHandle handle);
  bool may_end_partial(const Entry& entry) const noexcept;
  void note(SlotHandle handle, Entry& entry);
  void flush_pieces(Entry& entry);
  void end(Timestamp now, SlotHandle handle, Status status, std::string_view reason,
           bool tell_peer);
  void reject(const ReceiveRequest& request, Status status, std::string_view reason);
  void discard(SlotHandle handle);
  void refuse_announcement(Timestamp now, const wire::Transfer& frame, std::string_view reason);
  void note_ended_by_peer(Tag tag, std::uint64_t n, Status status);

  static constexpr std::size_t kFailedMax = 262144;
  static constexpr std::size_t kEndedByPeerMax = 65536;

  TransferContext context_;
  TransferLimits own_;
  SlotTable<Entry> table_;
  std::unordered_map<TransferKey, SlotHandle, TransferKeyHash> by_key_;
  std::unordered_map<TransferId, SlotHandle> by_id_;
  std::unordered_map<std::uint32_t, SlotHandle> by_alias_;
  std::uint32_t last_alias_ = UINT32_MAX;  // of the previous packet: nearly always of this one too
  SlotHandle last_handle_;
  EndedAliases ended_aliases_;
  std::unordered_map<Tag, base::IntervalSet> ended_;  // n of transfers that are over
  std::size_t ended_by_peer_ = 0;                     // intervals in it before we asked
  Tags tags_;
  Endings failed_{kFailedMax};  // of ours, for a peer that could not keep our word of it
  EarlyPackets early_;
  std::vector<wire::Layout> early_layouts_;
  std::unordered_map<TransferKey, Duration, TransferKeyHash> early_all_sent_;  // and the grace
  Deadlines deadlines_;
  Deadlines give_ups_;
  base::Fifo<SlotHandle> notifications_;
  std::uint64_t eager_held_ = 0;
  std::size_t matched_ = 0;
  std::uint64_t verified_bytes_ = 0;
  std::uint64_t duplicate_bytes_ = 0;
  std::uint32_t refetched_pieces_ = 0;
};

}  // namespace longhaul::transfer
