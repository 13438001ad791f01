// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "lib/io/backend.hpp"
#include "longhaul/config.hpp"
#include "longhaul/result.hpp"

namespace longhaul::api {

/// Opens the backend `config.backend` names on `config.local`. An unknown name is refused with the
/// names there are.
Result<std::unique_ptr<io::Backend>> open_backend(const EndpointConfig& config);

/// Puts the configured faults in front of a backend; returns it as it is if there are none.
std::unique_ptr<io::Backend> with_faults(std::unique_ptr<io::Backend> backend,
                                         const EndpointConfig& config, std::uint64_t seed,
                                         base::PayloadMode mode);

}  // namespace longhaul::api
