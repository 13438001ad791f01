// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/sim/scenario.hpp"

namespace longhaul::simtest {

/// How one transfer of a load went; times count from the start.
struct RequestOutcome {
  std::size_t load = 0;
  std::optional<Status> sender{};  ///< none = no completion came
  std::optional<Status> receiver{};
  Duration sender_ended{};
  Duration receiver_ended{};
  std::uint64_t bytes_missing = 0;  ///< of a partial result
  bool bytes_equal = true;          ///< what should have arrived did, and nothing else changed
};

struct Outcome {
  std::uint64_t trace_hash = 0;
  std::vector<RequestOutcome> requests;
  Duration completion{};   ///< the last receive
  Duration ended{};        ///< the last request of either side
  ConnectionStats client;  ///< counters since the start
  ConnectionStats server;
  EndpointStats server_endpoint;
  netmodel::LinkStats there;  ///< since the start
  netmodel::LinkStats back;
  std::vector<std::pair<Duration, std::uint64_t>> placed;  ///< of the first receive, over time
  std::uint64_t heap_peak = 0;                             ///< above what the process had before
  std::uint64_t heap_allowed = 0;  ///< printed budgets and what is on the simulated wire
};

/// Plays a scenario once.
Outcome play(const Scenario& scenario, base::PayloadMode mode);

}  // namespace longhaul::simtest
