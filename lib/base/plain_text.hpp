// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace longhaul::base {

/// Foreign text made safe for a terminal and a log: one line of valid UTF-8. Each control character
/// (C0, DEL, C1), line or paragraph separator, mark that turns the direction of writing, and each
/// byte that is no UTF-8 becomes '?'. Of a longer text the whole characters within the first `max`
/// bytes stay, and "…" behind them.
std::string plain_text(std::string_view foreign, std::size_t max);

}  // namespace longhaul::base
