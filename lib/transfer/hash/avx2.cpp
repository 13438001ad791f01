// SPDX-License-Identifier: Apache-2.0
// Compiled for AVX2, so it includes nothing whose inline functions others share.
#include <xxhash.h>

#include "lib/transfer/hash/implementations.hpp"

namespace longhaul::transfer::hash {

std::uint64_t avx2(const void* bytes, std::size_t size) {
  return XXH3_64bits(bytes, size);
}

}  // namespace longhaul::transfer::hash
