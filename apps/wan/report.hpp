// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/wan/counters.hpp"

namespace longhaul::apps::wan {

/// Something that happened to a link and not to a packet.
struct Event {
  Duration at{0};  ///< after the start
  std::string link;
  std::string direction;  ///< empty: it concerns one of the interfaces
  std::string what;
};

struct LinkReport {
  std::string name;
  std::string a;
  std::string b;
  std::array<DirectionStats, 2> directions;  ///< forward, backward
};

/// Everything since the start.
struct Report {
  std::uint64_t seed = 0;
  double seconds = 0;
  double cpu_seconds = 0;
  std::uint64_t buffer_bytes = 0;          ///< most memory that packets under way took
  std::uint64_t host_backlog_dropped = 0;  ///< by this machine, between any two interfaces
  std::vector<LinkReport> links;
  std::vector<Event> events;
};

/// Why figures say more about the emulator than about the line, one line each; empty if they do
/// not.
std::vector<std::string> reasons_of_bottleneck(const Report& report);
/// What senders do that no line can carry, with the command that ends it.
std::vector<std::string> faults_of_senders(const Report& report);

std::string event_text(const Event& event);
/// A line for each direction that carried anything between two looks.
std::string interval_text(const Report& before, const Report& now);
std::string summary_text(const Report& report);
std::string json_text(const Report& report);

}  // namespace longhaul::apps::wan
