// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/sim/scenario.hpp"

namespace longhaul::simtest {

Table loss_table();      ///< random and burst loss, both ways, on ACKs too
Table order_table();     ///< reordering, jitter, duplicates, corruption
Table path_table();      ///< outages, path MTU, rebinding, suspended peers
Table workload_table();  ///< sizes, dtypes, lists, both ways, growing sources
Table ending_table();    ///< statuses: cancel, close, deadlines, mismatches, lost peers, classes
Table control_table();   ///< congestion controllers other than `fixed`

}  // namespace longhaul::simtest
