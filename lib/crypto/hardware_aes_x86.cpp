// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/hardware_aes.hpp"

namespace longhaul::crypto {

bool has_hardware_aes() noexcept {
  return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
}

}  // namespace longhaul::crypto
