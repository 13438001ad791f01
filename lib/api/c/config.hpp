// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "longhaul/config.hpp"
#include "longhaul/longhaul_types.h"

namespace longhaul::api::c {

/// The configuration for Endpoint::open, which checks the values.
Result<EndpointConfig> to_config(const longhaul_endpoint_config* config);

}  // namespace longhaul::api::c
