// SPDX-License-Identifier: Apache-2.0
#include "longhaul/version.hpp"

#include "lib/api/version_config.hpp"

namespace longhaul {

std::string_view version() noexcept {
  return api::kVersion;
}

}  // namespace longhaul
