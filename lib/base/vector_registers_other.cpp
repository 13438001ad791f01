// SPDX-License-Identifier: Apache-2.0
#include "lib/base/vector_registers.hpp"

namespace longhaul::base {

void release_vector_registers() noexcept {}

}  // namespace longhaul::base
