// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "longhaul/config.hpp"
#include "longhaul/result.hpp"

namespace longhaul::api {

/// How an endpoint's packets are protected.
enum class Security : std::uint8_t { none, psk, certificates };
/// As `EndpointConfig::security` says it.
std::string_view to_string(Security security) noexcept;

/// What the configuration asks for. Refuses nothing at all, half of something, and settings that
/// contradict each other, by name and with the remedy. Looks at no file.
Result<Security> check_security(const EndpointConfig& config);

}  // namespace longhaul::api
