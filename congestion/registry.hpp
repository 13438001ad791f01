// SPDX-License-Identifier: Apache-2.0
// Controllers by name. A new one is one line in the table of registry.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "longhaul/congestion.hpp"
#include "longhaul/result.hpp"

namespace longhaul::congestion {

/// Factory of the controller, or nullptr if there is none of that name.
ControllerFactory find_controller(std::string_view name);

/// All names, sorted.
std::span<const std::string_view> controller_names();

/// The default of DESIGN §7: the operator's rate where there is one.
std::string_view default_controller(BitsPerSecond configured_rate);

/// Makes a controller, or says why not: an unknown name, or a rate the controller needs and nobody
/// configured. An empty name means the default.
Result<std::unique_ptr<Controller>> make_controller(std::string_view name,
                                                    const ControllerConfig& config);

}  // namespace longhaul::congestion
