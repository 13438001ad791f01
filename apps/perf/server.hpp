// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/interrupt.hpp"
#include "apps/perf/options.hpp"
#include "apps/perf/report.hpp"

namespace longhaul::apps::perf {

/// Serves clients, one test at a time, until Ctrl-C (or one test, with `one_off`). Returns the
/// exit status.
int run_server(const Options& options, InterruptWatch& interrupts, Reporter& reporter);

}  // namespace longhaul::apps::perf
