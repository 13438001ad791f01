// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "apps/perf/options.hpp"
#include "apps/perf/report.hpp"
#include "longhaul/endpoint.hpp"

namespace longhaul::apps::perf {

/// What the flags say about an endpoint, bound to `local`.
EndpointConfig endpoint_config(const Options& options, const SocketAddress& local);
/// Opens it; an error names flags where the library names members of its configuration.
Result<Endpoint> open_endpoint(const Options& options, const SocketAddress& local);
/// "psk", "certificates" or "none".
std::string_view security_name(const Options& options) noexcept;
/// What the library says about its configuration, in the words of --help.
std::string in_flags(std::string_view text);
/// `local`, or where it is a wildcard, the address the system sends from to `remote`.
SocketAddress address_toward(const Options& options, const SocketAddress& local,
                             const SocketAddress& remote);
/// The wildcard address of a family.
SocketAddress any_address(AddressFamily family, std::uint16_t port) noexcept;
/// An error as a user of this program should read it: with the flag that helps, where there is one.
std::string explain(const Error& error);
/// Why a connection has ended, without a peer's control characters.
Error ended_error(const Connection& connection);
/// The local address of the flags, or the wildcard of `family`.
Result<SocketAddress> local_address(const Options& options, AddressFamily family,
                                    std::uint16_t port);
/// Names become addresses; those of the family asked for by -4 or -6.
Result<SocketAddress> resolve_host(const Options& options, const std::string& host,
                                   std::uint16_t port);

}  // namespace longhaul::apps::perf
