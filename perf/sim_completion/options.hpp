// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "perf/sim_completion/cell.hpp"

namespace longhaul::perf {

struct Options {
  std::vector<Cell> cells;
  bool json = false;
  bool trace_hash = false;
};

/// Reads the command line; on a wrong one or `--help` prints and puts the exit code in `exit_code`.
std::optional<Options> parse_options(int argc, char** argv, int& exit_code);

}  // namespace longhaul::perf
