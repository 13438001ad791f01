// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace longhaul::congestion {

/// Calls of `operator new` in this program so far.
std::uint64_t allocations();

}  // namespace longhaul::congestion
