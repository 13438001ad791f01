// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/hardware_aes.hpp"

namespace longhaul::crypto {

// Servers of other architectures have them; asking needs the operating system.
bool has_hardware_aes() noexcept {
  return true;
}

}  // namespace longhaul::crypto
