// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/recovery/receive_space.hpp"
#include "lib/recovery/send_space.hpp"
#include "longhaul/status.hpp"

namespace longhaul::connection {

/// The packet-number spaces of one path, one a class, in both directions. Numbers on the wire are
/// 1 + 4 × path serial + class; 0 is the handshake.
class Spaces {
 public:
  /// `runs_max`: what each remembers of what arrived (see ReceiveSpace).
  Spaces(std::uint16_t path_serial, std::size_t runs_max)
      : first_id_(static_cast<std::uint16_t>(1 + path_serial * kTrafficClasses)) {
    receive_.fill(recovery::ReceiveSpace(runs_max));
  }

  std::uint16_t id(TrafficClass c) const noexcept {
    return static_cast<std::uint16_t>(first_id_ + static_cast<std::uint16_t>(c));
  }
  recovery::SendSpace& send(TrafficClass c) noexcept { return send_[static_cast<std::size_t>(c)]; }
  recovery::ReceiveSpace& receive(TrafficClass c) noexcept {
    return receive_[static_cast<std::size_t>(c)];
  }
  /// Class of a space of this path; false for another space.
  bool find(std::uint16_t space, TrafficClass& c) const noexcept {
    if (space < first_id_ || space >= first_id_ + kTrafficClasses) return false;
    c = static_cast<TrafficClass>(space - first_id_);
    return true;
  }

  static constexpr std::array kAll{TrafficClass::control, TrafficClass::critical,
                                   TrafficClass::bulk, TrafficClass::scavenger};
  static constexpr std::array kData{TrafficClass::critical, TrafficClass::bulk,
                                    TrafficClass::scavenger};

 private:
  std::uint16_t first_id_;
  std::array<recovery::SendSpace, kTrafficClasses> send_;
  std::array<recovery::ReceiveSpace, kTrafficClasses> receive_;
};

}  // namespace longhaul::connection
