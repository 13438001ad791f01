// SPDX-License-Identifier: Apache-2.0
#include <xxhash.h>

#include "lib/transfer/hash/implementations.hpp"

namespace longhaul::transfer::hash {

std::uint64_t portable(const void* bytes, std::size_t size) {
  return XXH3_64bits(bytes, size);
}

}  // namespace longhaul::transfer::hash
