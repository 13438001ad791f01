// SPDX-License-Identifier: Apache-2.0
#include "apps/wan/counters.hpp"

#include <array>

namespace longhaul::apps::wan {

namespace {

using netmodel::LinkStats;

template <std::uint64_t LinkStats::*Member>
std::uint64_t line(const DirectionStats& stats) {
  return stats.link.*Member;
}
template <std::uint64_t EmulatorStats::*Member>
std::uint64_t own(const DirectionStats& stats) {
  return stats.emulator.*Member;
}

constexpr std::array kNames{
    CounterName{"offered", "packets that came in and met the line", line<&LinkStats::offered>},
    CounterName{"delivered",
                "packets the line lets through, duplicates included, some of them still under way",
                line<&LinkStats::delivered>},
    CounterName{"too_big", "larger than mtu=", line<&LinkStats::too_big>, true},
    CounterName{"policed", "dropped by the policer", line<&LinkStats::policed>, true},
    CounterName{"red_dropped", "dropped by RED", line<&LinkStats::red_dropped>, true},
    CounterName{"queue_dropped", "found the queue full", line<&LinkStats::queue_dropped>, true},
    CounterName{"down_dropped", "fell into an outage (down=)", line<&LinkStats::down_dropped>,
                true},
    CounterName{"lost", "lost by loss= or burst_loss=", line<&LinkStats::lost>, true},
    CounterName{"ecn_marked", "marked by RED instead of dropped; may be lost later on",
                line<&LinkStats::ecn_marked>, true},
    CounterName{"corrupted", "got flipped bits", line<&LinkStats::corrupted>, true},
    CounterName{"duplicated", "delivered twice", line<&LinkStats::duplicated>, true},
    CounterName{"reordered", "arrived after a packet that was offered later",
                line<&LinkStats::reordered>, true},
    CounterName{"wire_bytes",
                "bytes that went through the rate, IP packets and 38 bytes of framing each",
                line<&LinkStats::wire_bytes>},
    CounterName{"queue_bytes_max",
                "most bytes that ever waited for the rate, counted as wire_bytes",
                line<&LinkStats::queue_bytes_max>},
    CounterName{"sent", "packets put on the interface they leave by", own<&EmulatorStats::sent>},
    CounterName{"sent_bytes",
                "their frames, Ethernet header included, without preamble, FCS and gap",
                own<&EmulatorStats::sent_bytes>},
    CounterName{"kernel_dropped", "dropped by the kernel before they were read; not in offered",
                own<&EmulatorStats::kernel_dropped>},
    CounterName{"buffer_dropped",
                "dropped for want of memory (--buffer); not in offered, but for second copies",
                own<&EmulatorStats::buffer_dropped>},
    CounterName{"send_failed", "refused by the interface they leave by although it was up",
                own<&EmulatorStats::send_failed>},
    CounterName{"interface_down", "delivered while the interface they leave by was down",
                own<&EmulatorStats::interface_down>, true},
    CounterName{"super_frames",
                "dropped, larger than the MTU: offload at the sender; not in offered",
                own<&EmulatorStats::super_frames>},
    CounterName{"no_checksum", "dropped, without checksum: offload at the sender; not in offered",
                own<&EmulatorStats::no_checksum>},
    CounterName{"runts", "dropped, no whole Ethernet header; not in offered",
                own<&EmulatorStats::runts>},
    CounterName{"late_over_1ms", "sent more than 1 ms after the line was done with them",
                own<&EmulatorStats::late_over_1ms>},
    CounterName{"late_max_ns", "the latest of them, in nanoseconds",
                own<&EmulatorStats::late_max_ns>},
};

}  // namespace

std::span<const CounterName> counter_names() noexcept {
  return kNames;
}

}  // namespace longhaul::apps::wan
