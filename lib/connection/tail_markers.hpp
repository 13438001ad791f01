// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "longhaul/status.hpp"
#include "longhaul/time.hpp"

namespace longhaul::connection {

/// After the last chunk in a space's queue: packets whose only message is their own number, at 1,
/// 2, 4 … reordering windows until everything in flight is settled. They make the last losses
/// visible to a receiver that never guesses, and find out when a line that failed is back.
class TailMarkers {
 public:
  /// A data packet leaves at `departure`.
  void on_data_sent(TrafficClass c, Timestamp departure, Duration window,
                    Duration smoothed_rtt) noexcept {
    Marker& marker = markers_[static_cast<std::size_t>(c)];
    // Where retransmissions follow each other closely, each would ask for markers of its own. A
    // wait this small against the round trip costs no time worth the packets, and a machine cannot
    // act on less.
    marker.window =
        std::max({window, Duration{std::chrono::microseconds(20)},
                  std::min<Duration>(smoothed_rtt / 256, std::chrono::microseconds(200))});
    marker.step = 0;
    marker.last_departure = departure;
    marker.due = departure + marker.window;
  }
  void on_marker_sent(TrafficClass c, Timestamp now, Duration interval_max) noexcept {
    Marker& marker = markers_[static_cast<std::size_t>(c)];
    marker.step = std::min(marker.step + 1, 40u);
    const Duration wait = marker.window.count() > (interval_max.count() >> marker.step)
                              ? interval_max
                              : marker.window * (std::int64_t{1} << marker.step);
    marker.due = now + wait;
  }
  void stop(TrafficClass c) noexcept { markers_[static_cast<std::size_t>(c)].due = kNever; }
  Timestamp due(TrafficClass c) const noexcept { return markers_[static_cast<std::size_t>(c)].due; }
  /// The same while chunks wait for the window: they will say how far the numbers go, unless the
  /// whole flight was lost.
  Timestamp due_with_closed_window(TrafficClass c, Duration pto) const noexcept {
    const Marker& marker = markers_[static_cast<std::size_t>(c)];
    return marker.step > 0 ? marker.due : std::max(marker.due, marker.last_departure + pto);
  }

 private:
  struct Marker {
    Timestamp due = kNever;
    Timestamp last_departure{};
    Duration window{};
    std::uint32_t step = 0;
  };
  std::array<Marker, kTrafficClasses> markers_;
};

}  // namespace longhaul::connection
