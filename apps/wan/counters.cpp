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
    CounterName{"offered", line<&LinkStats::offered>},
    CounterName{"delivered", line<&LinkStats::delivered>},
    CounterName{"too_big", line<&LinkStats::too_big>, true},
    CounterName{"policed", line<&LinkStats::policed>, true},
    CounterName{"red_dropped", line<&LinkStats::red_dropped>, true},
    CounterName{"queue_dropped", line<&LinkStats::queue_dropped>, true},
    CounterName{"down_dropped", line<&LinkStats::down_dropped>, true},
    CounterName{"lost", line<&LinkStats::lost>, true},
    CounterName{"ecn_marked", line<&LinkStats::ecn_marked>, true},
    CounterName{"corrupted", line<&LinkStats::corrupted>, true},
    CounterName{"duplicated", line<&LinkStats::duplicated>, true},
    CounterName{"reordered", line<&LinkStats::reordered>, true},
    CounterName{"wire_bytes", line<&LinkStats::wire_bytes>},
    CounterName{"queue_bytes_max", line<&LinkStats::queue_bytes_max>},
    CounterName{"sent", own<&EmulatorStats::sent>},
    CounterName{"sent_bytes", own<&EmulatorStats::sent_bytes>},
    CounterName{"kernel_dropped", own<&EmulatorStats::kernel_dropped>},
    CounterName{"buffer_dropped", own<&EmulatorStats::buffer_dropped>},
    CounterName{"send_failed", own<&EmulatorStats::send_failed>},
    CounterName{"interface_down", own<&EmulatorStats::interface_down>, true},
    CounterName{"super_frames", own<&EmulatorStats::super_frames>},
    CounterName{"no_checksum", own<&EmulatorStats::no_checksum>},
    CounterName{"runts", own<&EmulatorStats::runts>},
    CounterName{"late_over_1ms", own<&EmulatorStats::late_over_1ms>},
    CounterName{"late_max_ns", own<&EmulatorStats::late_max_ns>},
};

}  // namespace

std::span<const CounterName> counter_names() noexcept {
  return kNames;
}

}  // namespace longhaul::apps::wan
