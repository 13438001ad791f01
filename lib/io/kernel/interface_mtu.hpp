// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "longhaul/address.hpp"

namespace longhaul::io::kernel {

/// The largest UDP payload that leaves `local` in one packet: from the largest MTU among the
/// interfaces that are up and that `local` can use (the one that has the address; all of the family
/// for the wildcard), less the IP and UDP headers, and at most 65,507 bytes. `socket` is any
/// socket.
std::size_t datagram_max(int socket, const SocketAddress& local);

}  // namespace longhaul::io::kernel
