// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/sim/runner.hpp"

namespace longhaul::simtest {

/// What of the expectation does not hold, one line each.
std::vector<std::string> violations(const Scenario& scenario, const Outcome& outcome);
/// The same for a run disturbed by something, against the undisturbed one.
std::vector<std::string> goodput_violations(const Scenario& scenario, const Outcome& disturbed,
                                            const Outcome& undisturbed);

/// One line of what was measured, for whoever sets bounds.
std::string figures(const Scenario& scenario, const Outcome& outcome);

}  // namespace longhaul::simtest
