// SPDX-License-Identifier: Apache-2.0
#include "lib/netmodel/random_early_detection.hpp"

namespace longhaul::netmodel {

bool red_hits(const RandomEarlyDetection& red, std::uint64_t waiting_bytes,
              base::Random& random) noexcept {
  if (waiting_bytes >= red.max_bytes) return true;
  if (waiting_bytes <= red.min_bytes) return false;
  const auto above = static_cast<double>(waiting_bytes - red.min_bytes);
  return random.chance(red.probability * above /
                       static_cast<double>(red.max_bytes - red.min_bytes));
}

}  // namespace longhaul::netmodel
