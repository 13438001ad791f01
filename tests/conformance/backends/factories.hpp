// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/conformance/backends/pair.hpp"

namespace longhaul::io {

std::unique_ptr<Pair> make_sim_pair(std::string& why_not);
/// The simulator under a fault backend that holds every datagram back for a moment.
std::unique_ptr<Pair> make_fault_over_sim_pair(std::string& why_not);

/// The kernel's UDP on loopback: as it opens by default, over IPv6, and one message a datagram.
std::unique_ptr<Pair> make_kernel_pair(std::string& why_not);
std::unique_ptr<Pair> make_kernel_ipv6_pair(std::string& why_not);
std::unique_ptr<Pair> make_kernel_without_trains_pair(std::string& why_not);
/// The kernel's UDP under a fault backend that holds every datagram back for a moment.
std::unique_ptr<Pair> make_fault_over_kernel_pair(std::string& why_not);

}  // namespace longhaul::io
