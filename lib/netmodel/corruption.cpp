// SPDX-License-Identifier: Apache-2.0
#include "lib/netmodel/corruption.hpp"

#include <algorithm>

#include "lib/base/random.hpp"

namespace longhaul::netmodel {

BitFlips bit_flips(std::uint64_t corruption, std::size_t datagram_bytes) noexcept {
  BitFlips flips;
  if (datagram_bytes == 0) return flips;
  base::Random random(corruption);
  const std::size_t wanted = 1 + random.below(flips.bits.size());
  while (flips.count < wanted) {
    const std::uint64_t bit = random.below(datagram_bytes * 8);
    const auto end = flips.bits.begin() + static_cast<std::ptrdiff_t>(flips.count);
    if (std::find(flips.bits.begin(), end, bit) == end) flips.bits[flips.count++] = bit;
  }
  return flips;
}

void damage(std::span<std::byte> front, std::size_t datagram_bytes,
            std::uint64_t corruption) noexcept {
  const BitFlips flips = bit_flips(corruption, datagram_bytes);
  for (std::size_t i = 0; i < flips.count; ++i) {
    const std::uint64_t byte = flips.bits[i] / 8;
    if (byte < front.size()) front[byte] ^= std::byte{1} << (flips.bits[i] % 8);
  }
}

}  // namespace longhaul::netmodel
