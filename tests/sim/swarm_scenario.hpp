// SPDX-License-Identifier: Apache-2.0
// Random scenarios, and scenarios as one line of text, so that a found one can be written down, cut
// down and played again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/sim/scenario.hpp"

namespace longhaul::simtest {

/// Whatever the line does, as long as the peers hear of each other now and then everything
/// completes: any seed gives one such scenario.
Scenario random_scenario(std::uint64_t seed);

/// `seed=7 rtt_us=400 there.loss=30 load=bytes:5000,way:1 …`: fields that have their default are
/// left out, probabilities are in thousandths. Only what `random_scenario` varies is written.
std::string to_line(const Scenario& scenario);
/// The reverse. Throws std::runtime_error naming what it cannot read.
Scenario from_line(std::string_view line);

}  // namespace longhaul::simtest
