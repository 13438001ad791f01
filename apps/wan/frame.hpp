// SPDX-License-Identifier: Apache-2.0
// The few things the emulator has to know of a frame: where IP begins, and its ECN field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace longhaul::apps::wan {

inline constexpr std::size_t kEthernetBytes = 14;
inline constexpr std::size_t kVlanBytes = 4;

/// Bytes of the Ethernet header with its VLAN tags; 0 for a frame that ends before.
std::size_t ethernet_header_bytes(std::span<const std::byte> frame) noexcept;

/// True for an IPv4 or IPv6 packet that says ECT(0), ECT(1) or CE.
bool is_ecn_capable(std::span<const std::byte> frame) noexcept;
/// Sets CE in such a packet and keeps the IPv4 header checksum right (RFC 1624).
void mark_congestion(std::span<std::byte> frame) noexcept;

/// Copies a frame whose VLAN tag the kernel has taken out, with the tag back in its place. `to` has
/// room for `kVlanBytes` more than `frame`, which has a whole Ethernet header.
void copy_with_vlan(std::span<const std::byte> frame, std::uint16_t protocol, std::uint16_t tag,
                    std::byte* to) noexcept;

}  // namespace longhaul::apps::wan
