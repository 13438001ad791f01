// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/interrupt.hpp"
#include "apps/perf/options.hpp"
#include "apps/perf/report.hpp"

namespace longhaul::apps::perf {

/// Runs one test against the server of the options and reports it. Returns the exit status.
int run_client(const Options& options, Reporter& reporter);

}  // namespace longhaul::apps::perf
