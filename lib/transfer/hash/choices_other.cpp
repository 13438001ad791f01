// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/hash/hash.hpp"
#include "lib/transfer/hash/implementations.hpp"

namespace longhaul::transfer::hash {

Choices choices() noexcept {
  return {{portable}, 1};
}

Function fastest() noexcept {
  return portable;
}

}  // namespace longhaul::transfer::hash
