// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/conformance/backends/pair.hpp"

namespace longhaul::io {

std::unique_ptr<Pair> make_sim_pair(std::string& why_not);
/// The simulator under a fault backend that holds every datagram back for a moment.
std::unique_ptr<Pair> make_fault_over_sim_pair(std::string& why_not);

enum class KernelEngine : std::uint8_t { mmsg, io_uring, io_uring_zero_copy };
enum class KernelVariant : std::uint8_t {
  as_it_opens,  ///< IPv4, trains
  ipv6,
  without_trains,  ///< one message a datagram
  under_faults,    ///< under a fault backend that holds every datagram back for a moment
};
/// Makes pairs of the kernel's UDP on loopback.
std::function<std::unique_ptr<Pair>(std::string& why_not)> make_kernel_pair(KernelEngine engine,
                                                                            KernelVariant variant);

}  // namespace longhaul::io
