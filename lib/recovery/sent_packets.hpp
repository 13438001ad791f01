// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "longhaul/time.hpp"

namespace longhaul::recovery {

/// What a packet carried, so that its fate finds its owner.
enum class Content : std::uint8_t {
  none,    ///< nothing to tell anybody (ACK-only, tail marker, heartbeat)
  chunk,   ///< owner = send transfer; layout and index name the chunk
  digest,  ///< owner = send transfer; index = group
  frames,  ///< owner = carrier of reliable frames
  probe,   ///< path MTU probe
};

struct SentPacket {
  Timestamp sent_at{};
  std::uint64_t delivered_at_send = 0;  ///< bytes acknowledged on the path when it left
  std::uint32_t size = 0;               ///< UDP payload
  std::uint32_t owner = 0;
  std::uint32_t owner_generation = 0;
  std::uint32_t index = 0;
  std::uint8_t layout = 0;
  std::uint8_t key_phase = 0;
  Content content = Content::none;
  bool outstanding = false;  ///< fate unknown
  bool in_flight = false;    ///< counts for congestion control
  bool application_limited = false;
};

/// Ring of the packets of one packet-number space whose fate is unknown, indexed by number.
/// Grows by doubling; what a connection needs is bounded by its congestion window.
class SentPackets {
 public:
  explicit SentPackets(std::size_t capacity = 256);

  std::uint64_t first() const noexcept { return first_; }  ///< oldest number still kept
  std::uint64_t next() const noexcept { return next_; }    ///< number of the next packet
  /// Appends; the packet gets number next().
  SentPacket& append(const SentPacket& packet);
  /// The record of a number in [first, next), else null.
  SentPacket* find(std::uint64_t number) noexcept;
  /// The record of a number sent before, forgotten or not, unless its slot was taken since.
  const SentPacket* remembered(std::uint64_t number) const noexcept;
  /// Forgets leading records that are no longer outstanding.
  void trim() noexcept;

 private:
  void grow();
  std::vector<SentPacket> ring_;
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace longhaul::recovery
