// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "apps/wan/options.hpp"
#include "longhaul/result.hpp"

namespace longhaul::apps::wan {

/// Reads links, effects and schedule; a seed of the command line stays. Unknown keys are refused
/// by name, with those there are.
Result<void> read_scenario(const std::string& path, Options& options);
/// The same from a text; `name` stands for it in errors.
Result<void> parse_scenario(std::string_view text, std::string_view name, Options& options);

}  // namespace longhaul::apps::wan
