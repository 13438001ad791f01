// SPDX-License-Identifier: Apache-2.0
// What is counted of one direction: the model's part and the emulator's own.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "lib/netmodel/link_config.hpp"
#include "longhaul/time.hpp"

namespace longhaul::apps::wan {

/// What the emulator, not the line, did to packets.
struct EmulatorStats {
  std::uint64_t sent = 0;            ///< packets put on the interface they leave by
  std::uint64_t sent_bytes = 0;      ///< their frames, without FCS
  std::uint64_t kernel_dropped = 0;  ///< before they could be read
  std::uint64_t buffer_dropped = 0;  ///< no memory left within --buffer
  std::uint64_t send_failed = 0;     ///< the interface they leave by took them not
  std::uint64_t interface_down = 0;  ///< while the interface they leave by was down
  std::uint64_t super_frames = 0;    ///< larger than the MTU: segmentation offload at the sender
  std::uint64_t no_checksum = 0;     ///< without checksum: checksum offload at the sender
  std::uint64_t runts = 0;           ///< no Ethernet header
  std::uint64_t late_over_1ms = 0;   ///< sent more than a millisecond after they were due
  std::uint64_t late_max_ns = 0;
};

struct DirectionStats {
  netmodel::LinkStats link;
  EmulatorStats emulator;
};

/// A counter with its name in JSON.
struct CounterName {
  std::string_view name;
  std::string_view meaning;
  std::uint64_t (*value)(const DirectionStats& stats);
  bool told = false;  ///< in the lines for people, if it is not 0
};
std::span<const CounterName> counter_names() noexcept;

}  // namespace longhaul::apps::wan
