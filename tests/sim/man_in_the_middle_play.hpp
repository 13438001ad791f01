// SPDX-License-Identifier: Apache-2.0
// A seed's line, workload and man in the middle, played with him and without him, and what must
// hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/man_in_the_middle.hpp"
#include "tests/sim/world.hpp"

namespace longhaul::simtest {

/// One tensor from one end to the other.
struct Order {
  bool from_client = true;
  std::uint64_t bytes = 0;
  Duration send_at{};     ///< from the moment the connection is up
  Duration receive_at{};  ///< the same
  SendOptions send{};
  ReceiveOptions receive{};
};

struct MitmScenario {
  std::uint64_t seed = 0;
  Line line;
  bool certificates = false;  ///< instead of a pre-shared key
  bool validate_addresses = true;
  Habits habits;
  bool from_the_start = true;  ///< or once the connection is up
  bool speaks_only = false;    ///< he injects and replays, and touches nothing that passes
  std::vector<Order> orders;
};

MitmScenario random_mitm(std::uint64_t seed);

/// Faults of the harness's own, each of which some check must find.
enum class Plant : std::uint8_t { nothing, byte, close, slow, memory };
/// By its name; throws if there is none.
Plant plant_called(std::string_view name);

/// What did not hold, in words; empty if everything did.
std::vector<std::string> play_mitm(const MitmScenario& scenario, Plant plant, bool verbose);

}  // namespace longhaul::simtest
