// SPDX-License-Identifier: Apache-2.0
// Which engine is cheaper on this kernel, measured.
#pragma once

#include <cstdint>
#include <optional>

#include "longhaul/address.hpp"

namespace longhaul::io::kernel {

/// CPU time one datagram costs, sent and received over loopback by this thread, in nanoseconds.
struct EngineCosts {
  std::uint64_t mmsg = 0;
  std::uint64_t io_uring = 0;
};

/// Measures both engines, burst by burst in turn, on sockets of its own. Takes some 3 ms and stops
/// at 20 ms whatever happens. CPU time, since what else a machine does hardly shows in it. Nothing
/// if it could not be measured, such as without a loopback interface.
std::optional<EngineCosts> measure_engines(AddressFamily family, bool segmentation);

/// A ring is taken when it saves a tenth: less is gone with the next kernel update, and what is
/// simpler wins a draw.
constexpr bool is_ring_faster(const EngineCosts& costs) noexcept {
  return costs.io_uring * 10 <= costs.mmsg * 9;
}

}  // namespace longhaul::io::kernel
