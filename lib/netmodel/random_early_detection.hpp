// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lib/base/random.hpp"
#include "lib/netmodel/link_config.hpp"

namespace longhaul::netmodel {

/// Whether a packet that finds so many bytes waiting is hit; `red.max_bytes` is not 0.
bool red_hits(const RandomEarlyDetection& red, std::uint64_t waiting_bytes,
              base::Random& random) noexcept;

}  // namespace longhaul::netmodel
