// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "longhaul/export.hpp"
#include "longhaul/result.hpp"

namespace longhaul {

enum class AddressFamily : std::uint8_t { ipv4 = 4, ipv6 = 6 };

/// An IP address and a UDP port. IPv4 occupies the first four bytes; the rest is zero.
struct LONGHAUL_API SocketAddress {
  std::array<std::uint8_t, 16> bytes{};  ///< network order
  std::uint16_t port = 0;                ///< host order
  AddressFamily family = AddressFamily::ipv4;
  std::uint32_t scope_id = 0;  ///< interface index of a link-local IPv6 address

  friend bool operator==(const SocketAddress&, const SocketAddress&) = default;
  friend auto operator<=>(const SocketAddress&, const SocketAddress&) = default;

  /// Parses numeric text only ("192.0.2.1", "2001:db8::1"); names are resolved by `resolve()`.
  static Result<SocketAddress> parse(std::string_view host, std::uint16_t port);
};

/// "192.0.2.1:5201" or "[2001:db8::1]:5201".
LONGHAUL_API std::string to_string(const SocketAddress& address);

/// Bytes of IP and UDP header in front of a datagram to this family: 28 or 48.
constexpr std::size_t ip_udp_overhead(AddressFamily family) noexcept {
  return family == AddressFamily::ipv4 ? 28 : 48;
}

/// Resolves a name or numeric address; with `family`, to an address of that family only. Blocks in
/// the system's resolver; call it off the worker.
LONGHAUL_API Result<SocketAddress> resolve(std::string_view host, std::uint16_t port,
                                           std::optional<AddressFamily> family = std::nullopt);

}  // namespace longhaul
