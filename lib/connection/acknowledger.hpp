// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "lib/connection/spaces.hpp"
#include "lib/wire/frame.hpp"
#include "longhaul/time.hpp"

namespace longhaul::connection {

/// Says what arrived (ACK) and what needs no saying any more (FLOOR).
class Acknowledger {
 public:
  bool due(Timestamp now, Spaces& spaces) const noexcept;
  Timestamp next_due(Spaces& spaces) const noexcept;
  /// Writes due ACK frames; what does not fit goes on in the next call (`due` stays true).
  std::size_t write_acks(Timestamp now, Spaces& spaces, std::span<std::byte> out);

  /// An ACK of the class's space was processed: its floor may have risen.
  void on_ack_processed(Timestamp now, TrafficClass c, std::size_t gaps,
                        Duration smoothed_rtt) noexcept;
  std::size_t write_floors(Timestamp now, Spaces& spaces, Duration smoothed_rtt,
                           std::span<std::byte> out);

 private:
  std::optional<wire::Ack> rest_;  // of a report longer than one packet
  TrafficClass rest_class_ = TrafficClass::bulk;
  std::array<std::uint64_t, kTrafficClasses> floors_told_{};
  Timestamp floor_due_ = kNever;
  bool floor_urgent_ = false;  // worth a packet of its own
  Timestamp floors_told_at_{};
};

}  // namespace longhaul::connection
