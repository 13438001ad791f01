// SPDX-License-Identifier: Apache-2.0
// What a schedule does and when, in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/wan/plan.hpp"

namespace longhaul::apps::wan {

std::string_view direction_name(Direction direction) noexcept;
/// "2 s", "1.5 ms".
std::string time_text(Duration time);

/// Changes of the schedule and both ends of each outage, in order of time. The request has been
/// checked.
std::vector<PlannedEvent> planned_events(const LinkRequest& request);

}  // namespace longhaul::apps::wan
