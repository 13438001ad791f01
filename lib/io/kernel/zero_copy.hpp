// SPDX-License-Identifier: Apache-2.0
// Sending without a copy: what has to stay while the system refers to it, and whether it pays.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/base/datagram.hpp"
#include "lib/io/kernel/tx_batch.hpp"

namespace longhaul::io::kernel {

/// Keeps the heads of messages sent without a copy until the system lets go of them, and counts how
/// often it copied all the same. Payload is not kept: it belongs to a tensor and stays until
/// Backend::release_payload says so.
class ZeroCopy {
 public:
  /// Pieces of pages the system takes in one packet (MAX_SKB_FRAGS, 17 unless a kernel was built
  /// with more), less one for what it adds itself.
  static constexpr std::size_t kFragmentsMax = 16;
  /// Payload of a datagram below which it is copied. Every datagram takes two pieces at least, its
  /// head and its payload, so a message of small ones would hold a tenth of what a train can, and
  /// trains are worth more than the copy.
  static constexpr std::size_t kPayloadMin = 4096;
  /// Below this a message is copied: that costs less than the second completion.
  static constexpr std::size_t kMessageBytesMin = 16384;
  /// Completions after which it is known whether the system copies.
  static constexpr std::uint64_t kJudgedAfter = 64;

  /// Room for `messages` at a time; nothing is allocated afterwards.
  explicit ZeroCopy(std::size_t messages);

  /// Takes a slot for a message that holds `datagrams` and points its vectors at heads of our own.
  /// Nothing if the message is better copied: small, in too many pieces, not of a tensor, or no
  /// slot is free. Returns the slot's number.
  std::optional<std::uint16_t> hold(msghdr& message,
                                    std::span<const base::TxDatagram> datagrams) noexcept;
  /// Undoes what `hold` did to a message.
  static void use_own_heads(msghdr& message, std::span<const base::TxDatagram> datagrams) noexcept;
  /// The system does not refer to the slot any more; `copied` is whether it had made a copy.
  void let_go(std::uint16_t slot, bool copied) noexcept;
  /// It never did: the message was refused.
  void forget(std::uint16_t slot) noexcept { free_.push_back(slot); }

  /// Whether anything is held.
  bool holds() const noexcept { return free_.size() != slots_; }
  /// Judged by what came back so far: the system copies most of it, so that the bookkeeping is all
  /// that is gained.
  bool is_futile() const noexcept { return completed_ >= kJudgedAfter && 2 * copied_ > completed_; }
  std::uint64_t completed() const noexcept { return completed_; }
  std::uint64_t copied() const noexcept { return copied_; }

 private:
  static constexpr std::size_t kHeadMax = 64;
  /// Aligned, so that no head crosses a page.
  struct alignas(kHeadMax) Heads {
    std::array<std::byte, kSegmentsMax * kHeadMax> bytes;
  };

  std::size_t slots_;
  std::unique_ptr<Heads[]> heads_;
  std::vector<std::uint16_t> free_;
  std::uint64_t completed_ = 0;
  std::uint64_t copied_ = 0;
};

}  // namespace longhaul::io::kernel
