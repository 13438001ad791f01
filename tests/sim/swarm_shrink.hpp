// SPDX-License-Identifier: Apache-2.0
// Cuts a scenario that fails down to what makes it fail.
#pragma once

#include <functional>
#include <string>

namespace longhaul::simtest {

/// Whether a scenario, written as a line, still fails. Lines that mean nothing do not.
using Fails = std::function<bool(const std::string& line)>;

/// Leaves out whatever can be left out of a failing line, then halves what numbers it can, until
/// nothing more helps or `runs_max` lines were tried. Every step keeps failing.
std::string shrink(std::string line, const Fails& fails, unsigned runs_max);

}  // namespace longhaul::simtest
