// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/conformance/backends/pair.hpp"

namespace longhaul::io {

std::unique_ptr<Pair> make_sim_pair(std::string& why_not);
/// The simulator under a fault backend that holds every datagram back for a moment.
std::unique_ptr<Pair> make_fault_over_sim_pair(std::string& why_not);

}  // namespace longhaul::io
