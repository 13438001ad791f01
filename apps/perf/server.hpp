// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "apps/common/interrupt.hpp"
#include "apps/perf/options.hpp"
#include "apps/perf/report.hpp"

namespace longhaul::apps::perf {

/// Serves clients, one test at a time, until Ctrl-C (or one test, with `one_off`). Returns the
/// exit status. `listening` is called once, when clients can connect; its error ends the server.
int run_server(const Options& options, InterruptWatch& interrupts, Reporter& reporter,
               const std::function<Result<void>()>& listening = {});

}  // namespace longhaul::apps::perf
