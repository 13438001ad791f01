// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/base/datagram.hpp"
#include "lib/base/interval_set.hpp"
#include "lib/transfer/layout.hpp"
#include "lib/transfer/memory.hpp"
#include "lib/transfer/messages.hpp"
#include "lib/transfer/pieces.hpp"
#include "lib/wire/constants.hpp"

namespace longhaul::transfer {

/// What one packet is to carry.
struct SendChunk {
  bool digest = false;  ///< a digest group instead of tensor bytes
  bool first_copy = true;
  std::uint8_t layout = 0;
  std::uint32_t index = 0;   ///< chunk index, or group
  std::uint64_t offset = 0;  ///< of tensor bytes
  std::uint32_t length = 0;  ///< payload bytes
};

/// One tensor on its way out: what has left, what has to leave again. State is O(gaps), whatever
/// its size; the source memory is the retransmission buffer.
class SendTransfer {
 public:
  SendTransfer(SendRequest&& request, std::uint64_t n, std::uint32_t alias, base::PayloadMode mode);

  TransferId id() const noexcept { return id_; }
  Tag tag() const noexcept { return tag_; }
  std::uint64_t n() const noexcept { return n_; }
  std::uint32_t alias() const noexcept { return alias_; }
  const SendOptions& options() const noexcept { return options_; }
  std::uint64_t bytes() const noexcept { return pieces_.bytes; }
  std::uint64_t left_once() const noexcept { return cursor_; }
  const SourceMemory& memory() const noexcept { return memory_; }
  std::uint8_t piece_log2() const noexcept { return pieces_.log2; }

  void set_ready(std::uint64_t bytes) noexcept {
    ready_ = std::max(ready_, std::min(bytes, pieces_.bytes));
  }
  bool waits_for_source() const noexcept { return cursor_ == ready_ && ready_ < pieces_.bytes; }
  /// Every byte and digest has left at least once and nothing waits to leave again.
  bool idle() const noexcept;
  bool all_left_once() const noexcept;

  enum class Next : std::uint8_t {
    nothing,
    chunk,       ///< `out` is filled
    new_layout,  ///< `announced()` has to be told first; call again
    exhausted,   ///< no layout number is left: the transfer cannot go on
  };
  /// The next thing to send in at most `payload_max` bytes: digests, then what was lost, then new
  /// bytes.
  Next next(std::uint32_t payload_max, SendChunk& out);
  /// The layout that `new_layout` asked to announce, and its number.
  const Layout& announced() const noexcept { return layouts_.back(); }
  std::uint8_t announced_number() const noexcept {
    return static_cast<std::uint8_t>(layouts_.size() - 1);
  }
  /// Writes the digests of a group.
  void write_digests(std::uint32_t group, std::span<std::byte> out) const;

  void on_lost(bool digest, std::uint8_t layout, std::uint32_t index);
  /// The receiver asks for a range (a piece that failed its digest); false if it is not ours to
  /// give.
  bool refetch(std::uint64_t first, std::uint64_t length);

 private:
  Next next_digest(SendChunk& out);
  Next next_retransmission(std::uint32_t payload_max, SendChunk& out);
  Next next_new(std::uint32_t payload_max, SendChunk& out);
  Next add_layout_for_new(std::uint32_t payload_max);
  Next add_layout(const base::Interval& bytes, std::uint32_t payload_max);
  void send_digests_again(std::uint64_t group);
  std::uint32_t chunk_size_for(std::uint32_t payload_max) const noexcept;
  void fill(SendChunk& out, std::size_t layout, std::uint32_t index, bool first_copy) const;
  void hash_passed_pieces();

  TransferId id_;
  Tag tag_;
  std::uint64_t n_;
  std::uint32_t alias_;
  SendOptions options_;
  base::PayloadMode mode_;
  SourceMemory memory_;
  Pieces pieces_;
  std::uint32_t element_size_ = 1;

  std::uint64_t ready_ = 0;   // the source is valid below
  std::uint64_t cursor_ = 0;  // everything below has left once
  std::vector<Layout> layouts_;
  std::size_t present_ = 0;  // layout of what leaves for the first time
  base::IntervalSet again_;  // byte ranges to send again

  std::uint64_t hashed_pieces_ = 0;
  std::array<std::uint64_t, wire::kPiecesPerGroup> group_digests_{};
  std::optional<std::uint32_t> fresh_group_;  // complete in group_digests_, not sent yet
  base::IntervalSet groups_again_;
};

}  // namespace longhaul::transfer
