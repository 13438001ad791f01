// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/native_address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace longhaul::io::kernel {

socklen_t to_native(const SocketAddress& address, NativeAddress& native) noexcept {
  if (address.family == AddressFamily::ipv4) {
    native.ipv4 = {};
    native.ipv4.sin_family = AF_INET;
    native.ipv4.sin_port = htons(address.port);
    std::memcpy(&native.ipv4.sin_addr, address.bytes.data(), sizeof(native.ipv4.sin_addr));
    return sizeof(native.ipv4);
  }
  native.ipv6 = {};
  native.ipv6.sin6_family = AF_INET6;
  native.ipv6.sin6_port = htons(address.port);
  native.ipv6.sin6_scope_id = address.scope_id;
  std::memcpy(&native.ipv6.sin6_addr, address.bytes.data(), sizeof(native.ipv6.sin6_addr));
  return sizeof(native.ipv6);
}

SocketAddress from_native(const NativeAddress& native) noexcept {
  SocketAddress address;
  if (native.any.sa_family == AF_INET) {
    address.port = ntohs(native.ipv4.sin_port);
    std::memcpy(address.bytes.data(), &native.ipv4.sin_addr, sizeof(native.ipv4.sin_addr));
  } else if (native.any.sa_family == AF_INET6) {
    address.family = AddressFamily::ipv6;
    address.port = ntohs(native.ipv6.sin6_port);
    address.scope_id = native.ipv6.sin6_scope_id;
    std::memcpy(address.bytes.data(), &native.ipv6.sin6_addr, sizeof(native.ipv6.sin6_addr));
  }
  return address;
}

std::string host_text(const SocketAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = address.family == AddressFamily::ipv4 ? AF_INET : AF_INET6;
  inet_ntop(family, address.bytes.data(), text.data(), static_cast<socklen_t>(text.size()));
  return text.data();
}

bool is_wildcard(const SocketAddress& address) noexcept {
  return std::ranges::all_of(address.bytes, [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace longhaul::io::kernel
