// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "longhaul/export.hpp"

namespace longhaul {

/// Version of the library that is loaded, such as "0.1.0". Unstable until 1.0.
LONGHAUL_API std::string_view version() noexcept;

}  // namespace longhaul
