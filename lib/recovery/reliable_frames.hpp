// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/wire/frame.hpp"
#include "longhaul/time.hpp"

namespace longhaul::recovery {

/// When copies of a frame leave.
struct RepeatTiming {
  Duration early{};         ///< the second copy, further away than a burst of losses is long
  Duration retry{};         ///< from the second copy on, doubling
  Duration interval_max{};  ///< between copies
};

/// Control frames that must arrive: each is repeated until a packet that carried it is
/// acknowledged. Nothing waits for loss detection; a second copy follows soon, so that one loss
/// costs no round trip.
class ReliableFrames {
 public:
  void push(Timestamp now, const wire::Frame& frame);

  Timestamp next_due() const noexcept;
  std::size_t pending() const noexcept { return live_; }
  /// Writes due frames, oldest first, as many as fit; returns bytes, 0 if nothing is due or fits.
  /// `carrier` names what the packet carries; report its fate exactly once.
  std::size_t write_due(Timestamp now, std::span<std::byte> out, const RepeatTiming& timing,
                        std::uint32_t& carrier);
  void on_carrier_acked(std::uint32_t carrier);
  /// Its frames become due at once unless a later copy is under way.
  void on_carrier_lost(Timestamp now, std::uint32_t carrier);

 private:
  // The longest reliable frame is a RECEIVE_END: tag, n, status, bytes and the longest reason.
  static constexpr std::size_t kFrameBytesMax =
      wire::kFrameHeaderBytes + 8 + 8 + 1 + 8 + 1 + wire::kReasonBytesMax;
  // Nearly every frame fits here, a TRANSFER of eight dimensions among them; a long reason does
  // not.
  static constexpr std::size_t kShortFrameBytes = 128;
  struct Entry {
    std::array<std::byte, kShortFrameBytes> short_bytes;
    std::unique_ptr<std::array<std::byte, kFrameBytesMax>> long_bytes;  // if size is larger
    std::span<const std::byte> bytes() const noexcept {
      return {size > kShortFrameBytes ? long_bytes->data() : short_bytes.data(), size};
    }
    std::uint16_t size = 0;
    std::uint32_t generation = 0;
    std::uint32_t copies = 0;
    std::uint64_t sequence = 0;
    std::uint32_t last_carrier = 0;
    Timestamp due{};
    bool live = false;
  };
  struct Reference {
    std::uint32_t entry = 0;
    std::uint32_t generation = 0;
  };
  struct Due {
    Timestamp at{};
    std::uint64_t sequence = 0;
    Reference frame;
    bool operator<(const Due& other) const noexcept {  // std heap: the largest is on top
      return at != other.at ? at > other.at : sequence > other.sequence;
    }
  };
  struct Carrier {
    std::vector<Reference> frames;
    bool live = false;
  };

  void schedule(std::uint32_t entry, Timestamp at);
  bool current(const Due& due) const noexcept;
  void drop_stale() noexcept;
  std::uint32_t new_carrier();
  bool is_live(std::uint32_t carrier) const noexcept;
  void release(std::uint32_t carrier);

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_entries_;
  std::vector<Due> heap_;
  std::vector<Carrier> carriers_;
  std::vector<std::uint32_t> free_carriers_;
  std::uint64_t next_sequence_ = 0;
  std::size_t live_ = 0;
};

}  // namespace longhaul::recovery
