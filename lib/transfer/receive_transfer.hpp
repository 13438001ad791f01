// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/datagram.hpp"
#include "lib/base/interval_set.hpp"
#include "lib/transfer/digest_check.hpp"
#include "lib/transfer/layout.hpp"
#include "lib/transfer/memory.hpp"
#include "lib/transfer/pieces.hpp"
#include "lib/wire/frame.hpp"

namespace longhaul::transfer {

/// Bytes of an arrived chunk: in the packet, or (payload mode `reference`) only their number.
struct ChunkBytes {
  std::span<const std::byte> bytes;
  std::uint64_t length = 0;
  bool by_reference = false;
};

/// Assembly of one tensor straight in its destination. State is O(gaps).
class ReceiveTransfer {
 public:
  explicit ReceiveTransfer(base::PayloadMode mode) : mode_(mode) {
    if (mode == base::PayloadMode::reference) digests_.accept_everything();
  }

  /// The sender's announcement; sizes everything.
  void set_announcement(const wire::Transfer& frame);
  /// Where the bytes go. Bytes that came eagerly before are copied over.
  void set_destination(DestinationMemory&& memory);
  /// Room of our own for a transfer nobody has posted a receive for yet.
  void hold_eagerly();

  bool has_destination() const noexcept { return has_destination_; }
  std::uint64_t bytes() const noexcept { return pieces_.bytes; }
  std::uint64_t placed_bytes() const noexcept { return placed_.total(); }
  std::uint64_t verified_bytes() const noexcept { return verified_.total(); }
  /// Nothing is before it was announced: its size is not known then.
  bool complete() const noexcept { return announced_ && verified_.total() == pieces_.bytes; }
  const base::IntervalSet& placed() const noexcept { return placed_; }

  /// False: contradicts what was announced.
  [[nodiscard]] bool add_layout(std::uint8_t number, const Layout& layout);

  enum class Result : std::uint8_t { placed, duplicate, unknown_layout, wrong_size };
  Result on_chunk(std::uint8_t layout, std::uint32_t index, const ChunkBytes& chunk);
  Result on_digests(std::uint32_t group, const ChunkBytes& chunk);

  /// A piece failed its digest: the range to fetch again. Empty optional when there is none.
  /// `hopeless()` is true once a piece failed three times.
  std::optional<base::Interval> take_refetch();
  bool hopeless() const noexcept { return hopeless_; }

  /// Ranges newly placed or verified since they were last taken, for piece events.
  base::IntervalSet& newly_placed() noexcept { return newly_placed_; }
  base::IntervalSet& newly_verified() noexcept { return newly_verified_; }
  /// From now on ranges are collected; what is there already counts as new.
  void report_pieces();
  std::uint64_t duplicate_bytes() const noexcept { return duplicate_bytes_; }

 private:
  void place(const base::Interval& range, const ChunkBytes& chunk);
  void check_pieces(const base::Interval& fresh);
  void settle(DigestCheck::Verdict verdict, std::uint64_t piece);

  struct Retry {
    std::uint64_t piece = 0;
    int times = 0;
  };

  base::PayloadMode mode_;
  DestinationMemory memory_;
  std::unique_ptr<std::byte[]> held_;
  bool has_destination_ = false;
  bool announced_ = false;
  Pieces pieces_;
  std::vector<std::optional<Layout>> layouts_;
  base::IntervalSet placed_;
  DigestCheck digests_;
  base::IntervalSet verified_;
  std::uint64_t duplicate_bytes_ = 0;
  std::vector<base::Interval> fresh_;  // scratch: what the present chunk adds
  std::vector<Retry> retries_;
  std::vector<base::Interval> refetch_;
  bool hopeless_ = false;
  bool report_pieces_ = false;
  base::IntervalSet newly_placed_;
  base::IntervalSet newly_verified_;
};

}  // namespace longhaul::transfer
