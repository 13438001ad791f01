// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "lib/api/security_check.hpp"
#include "longhaul/config.hpp"
#include "longhaul/congestion.hpp"
#include "longhaul/result.hpp"

namespace longhaul::api {

/// What a configuration comes to.
struct CheckedConfig {
  Security security = Security::none;
  congestion::ControllerFactory make_controller = nullptr;
  std::uint64_t memory_budget = 0;
  std::string arithmetic;  ///< how the budget was computed
};

/// Refuses what cannot work, with cause and remedy; fills in the name of the controller.
Result<CheckedConfig> check_config(EndpointConfig& config);

/// The rate the tables are sized for: the configured one, else 10 Gbit/s.
std::uint64_t planned_rate_bps(const EndpointConfig& config) noexcept;

}  // namespace longhaul::api
