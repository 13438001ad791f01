// SPDX-License-Identifier: Apache-2.0
// What was asked for and would do nothing, or not what it says.
#pragma once

#include <vector>

#include "apps/wan/options.hpp"
#include "apps/wan/plan.hpp"

namespace longhaul::apps::wan {

/// Each word of each list does something in at least one direction it is for.
Result<void> check_words(const LinkRequest& request);
/// Outages of one direction do not overlap.
Result<void> check_outages(const LinkPlan& plan);
/// Changes come before the end of the run, and queues fit the memory for packets.
Result<void> check_limits(const std::vector<LinkPlan>& plans, const Options& options);

}  // namespace longhaul::apps::wan
