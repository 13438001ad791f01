// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "apps/perf/options.hpp"
#include "apps/perf/report.hpp"
#include "longhaul/endpoint.hpp"

namespace longhaul::apps::perf {

/// What the flags say about an endpoint, bound to `local`.
EndpointConfig endpoint_config(const Options& options, const SocketAddress& local);
/// The wildcard address of a family.
SocketAddress any_address(AddressFamily family, std::uint16_t port) noexcept;
/// An error as a user of this program should read it: with the flag that helps, where there is one.
std::string explain(const Error& error);

}  // namespace longhaul::apps::perf
