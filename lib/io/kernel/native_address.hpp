// SPDX-License-Identifier: Apache-2.0
// Our addresses in the system's form and back.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "longhaul/address.hpp"

namespace longhaul::io::kernel {

/// The system's form of a SocketAddress. Much smaller than `sockaddr_storage`, as one is kept per
/// message of a burst.
union NativeAddress {
  sockaddr any;
  sockaddr_in ipv4;
  sockaddr_in6 ipv6;
};

/// Writes `address` to `native` and returns how many bytes of it count.
socklen_t to_native(const SocketAddress& address, NativeAddress& native) noexcept;

/// The reverse. An address of a family we do not know comes back as the IPv4 wildcard, port 0.
SocketAddress from_native(const NativeAddress& native) noexcept;

/// The host alone, such as "192.0.2.1", for error texts.
std::string host_text(const SocketAddress& address);

/// 0.0.0.0 or ::.
bool is_wildcard(const SocketAddress& address) noexcept;

}  // namespace longhaul::io::kernel
