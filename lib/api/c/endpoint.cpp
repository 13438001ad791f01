// SPDX-License-Identifier: Apache-2.0
// longhaul_endpoint_*: opening, closing, connections, memory.
#include "lib/api/c/config.hpp"
#include "lib/api/c/convert.hpp"
#include "lib/api/c/guard.hpp"
#include "lib/api/c/handles.hpp"
#include "longhaul/longhaul.h"

using namespace longhaul;
using namespace longhaul::api::c;

namespace {

// Both ways of connecting.
using Connect = Result<Connection> (Endpoint::*)(const SocketAddress&, const ConnectOptions&);
longhaul_code connect_by(Connect way, longhaul_endpoint* endpoint, const longhaul_address* remote,
                         const longhaul_connect_options* options, longhaul_connection** connection,
                         longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    NewHandle<longhaul_connection> made(connection);
    if (auto checked = check(endpoint); !checked) return checked;
    if (!made.wanted()) return invalid("there is nowhere to put the connection (NULL)");
    const auto address = to_address(remote);
    if (!address) return tl::unexpected(address.error());
    const auto chosen = to_options(options);
    if (!chosen) return tl::unexpected(chosen.error());
    return made.give((endpoint->object.*way)(*address, *chosen));
  });
}

}  // namespace

longhaul_code longhaul_endpoint_open(const longhaul_endpoint_config* config,
                                     longhaul_endpoint** endpoint, longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    NewHandle<longhaul_endpoint> made(endpoint);
    if (!made.wanted()) return invalid("there is nowhere to put the endpoint (NULL)");
    auto given = to_config(config);
    if (!given) return tl::unexpected(given.error());
    return made.give(Endpoint::open(std::move(*given)));
  });
}

longhaul_code longhaul_endpoint_close(longhaul_endpoint* endpoint, longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (auto checked = check(endpoint); !checked) return checked;
    endpoint->object.close();
    return {};
  });
}

void longhaul_endpoint_release(longhaul_endpoint** endpoint) {
  release(endpoint);
}

longhaul_code longhaul_endpoint_local_address(const longhaul_endpoint* endpoint,
                                              longhaul_address* address, longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (auto checked = check(endpoint); !checked) return checked;
    return give_address(endpoint->object.local_address(), address);
  });
}

longhaul_code longhaul_endpoint_listen(longhaul_endpoint* endpoint, longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (auto checked = check(endpoint); !checked) return checked;
    return endpoint->object.listen();
  });
}

longhaul_code longhaul_endpoint_accept(longhaul_endpoint* endpoint, int64_t timeout_ns,
                                       longhaul_connection** connection, longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    NewHandle<longhaul_connection> made(connection);
    if (auto checked = check(endpoint); !checked) return checked;
    if (!made.wanted()) return invalid("there is nowhere to put the connection (NULL)");
    const auto wait = timeout_ns == 0 ? std::nullopt : std::optional(to_duration(timeout_ns));
    return made.give(endpoint->object.accept(wait));
  });
}

longhaul_code longhaul_endpoint_connect(longhaul_endpoint* endpoint, const longhaul_address* remote,
                                        const longhaul_connect_options* options,
                                        longhaul_connection** connection, longhaul_error* error) {
  return connect_by(&Endpoint::connect, endpoint, remote, options, connection, error);
}

longhaul_code longhaul_endpoint_connect_async(longhaul_endpoint* endpoint,
                                              const longhaul_address* remote,
                                              const longhaul_connect_options* options,
                                              longhaul_connection** connection,
                                              longhaul_error* error) {
  return connect_by(&Endpoint::connect_async, endpoint, remote, options, connection, error);
}

longhaul_code longhaul_endpoint_register_memory(longhaul_endpoint* endpoint, void* data,
                                                uint64_t bytes, longhaul_memory_kind kind,
                                                uint64_t* region, longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (region == nullptr) return invalid("there is nowhere to put the region (NULL)");
    *region = 0;
    if (auto checked = check(endpoint); !checked) return checked;
    const auto known = to_memory_kind(kind);
    if (!known) return tl::unexpected(known.error());
    const auto registered = endpoint->object.register_memory(data, bytes, *known);
    if (!registered) return tl::unexpected(registered.error());
    *region = registered->id;
    return {};
  });
}

longhaul_code longhaul_endpoint_unregister_memory(longhaul_endpoint* endpoint, uint64_t region,
                                                  longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (auto checked = check(endpoint); !checked) return checked;
    return endpoint->object.unregister_memory(Region{region});
  });
}
