// SPDX-License-Identifier: Apache-2.0
#include "apps/wan/frame.hpp"

#include <algorithm>

namespace longhaul::apps::wan {

namespace {

constexpr std::size_t kAddressBytes = 12;
constexpr std::uint16_t kVlan = 0x8100;
constexpr std::uint16_t kServiceVlan = 0x88a8;
constexpr std::uint16_t kIpv4 = 0x0800;
constexpr std::uint16_t kIpv6 = 0x86dd;
constexpr std::size_t kIpv4HeaderBytes = 20;
constexpr std::size_t kIpv4Checksum = 10;

std::uint16_t read16(std::span<const std::byte> bytes, std::size_t at) noexcept {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[at]) << 8 |
                                    std::to_integer<unsigned>(bytes[at + 1]));
}

void write16(std::byte* at, std::uint16_t value) noexcept {
  at[0] = std::byte(value >> 8);
  at[1] = std::byte(value & 0xff);
}

enum class Family { none, ipv4, ipv6 };

/// What the frame carries, as far as its ECN field is there.
Family family_of(std::span<const std::byte> frame, std::size_t header) noexcept {
  if (header == 0) return Family::none;
  const std::uint16_t type = read16(frame, header - 2);
  const std::size_t rest = frame.size() - header;
  if (type == kIpv4 && rest >= kIpv4HeaderBytes && (frame[header] >> 4) == std::byte{4})
    return Family::ipv4;
  if (type == kIpv6 && rest >= 2 && (frame[header] >> 4) == std::byte{6}) return Family::ipv6;
  return Family::none;
}

}  // namespace

std::size_t ethernet_header_bytes(std::span<const std::byte> frame) noexcept {
  std::size_t header = kEthernetBytes;
  while (frame.size() >= header) {
    const std::uint16_t type = read16(frame, header - 2);
    if (type != kVlan && type != kServiceVlan) return header;
    header += kVlanBytes;
  }
  return 0;
}

bool is_ecn_capable(std::span<const std::byte> frame) noexcept {
  const std::size_t header = ethernet_header_bytes(frame);
  switch (family_of(frame, header)) {
    case Family::none:
      return false;
    case Family::ipv4:
      return (frame[header + 1] & std::byte{3}) != std::byte{0};
    case Family::ipv6:
      return (frame[header + 1] & std::byte{0x30}) != std::byte{0};
  }
  return false;
}

void mark_congestion(std::span<std::byte> frame) noexcept {
  const std::size_t header = ethernet_header_bytes(frame);
  const Family family = family_of(frame, header);
  if (family == Family::ipv6) frame[header + 1] |= std::byte{0x30};
  if (family != Family::ipv4) return;
  const std::uint16_t before = read16(frame, header);
  frame[header + 1] |= std::byte{3};
  const std::uint16_t after = read16(frame, header);
  const std::uint16_t checksum = read16(frame, header + kIpv4Checksum);
  // RFC 1624 [Eqn. 3]: HC' = ~(~HC + ~m + m').
  std::uint32_t sum = static_cast<std::uint16_t>(~checksum);
  sum += static_cast<std::uint16_t>(~before);
  sum += after;
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  write16(&frame[header + kIpv4Checksum], static_cast<std::uint16_t>(~sum));
}

void copy_with_vlan(std::span<const std::byte> frame, std::uint16_t protocol, std::uint16_t tag,
                    std::byte* to) noexcept {
  std::copy_n(frame.data(), kAddressBytes, to);
  write16(to + kAddressBytes, protocol);
  write16(to + kAddressBytes + 2, tag);
  std::copy(frame.begin() + kAddressBytes, frame.end(), to + kAddressBytes + kVlanBytes);
}

}  // namespace longhaul::apps::wan
