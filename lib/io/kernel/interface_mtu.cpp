// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/interface_mtu.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "lib/io/kernel/native_address.hpp"

namespace longhaul::io::kernel {
namespace {

constexpr std::size_t kUdpPayloadMax = 65507;
/// What every IPv6 link must carry (RFC 8200); taken for a machine that shows no interface at all.
constexpr std::size_t kMtuFloor = 1280;

bool in_ipv4_network(const ifaddrs& interface, const SocketAddress& local) noexcept {
  if (interface.ifa_netmask == nullptr) return false;
  sockaddr_in own{};
  sockaddr_in mask{};
  std::memcpy(&own, interface.ifa_addr, sizeof(own));
  std::memcpy(&mask, interface.ifa_netmask, sizeof(mask));
  std::uint32_t wanted = 0;
  std::memcpy(&wanted, local.bytes.data(), sizeof(wanted));
  return ((own.sin_addr.s_addr ^ wanted) & mask.sin_addr.s_addr) == 0;
}

/// Whether packets from `local` can leave by this interface.
bool usable(const ifaddrs& interface, const SocketAddress& local) noexcept {
  const int family = local.family == AddressFamily::ipv4 ? AF_INET : AF_INET6;
  if (interface.ifa_addr == nullptr || interface.ifa_addr->sa_family != family) return false;
  if ((interface.ifa_flags & IFF_UP) == 0) return false;
  if (is_wildcard(local)) return true;
  // All of 127.0.0.0/8 is local though the interface lists one address of it.
  if (family == AF_INET) return in_ipv4_network(interface, local);
  NativeAddress native{};
  std::memcpy(&native.ipv6, interface.ifa_addr, sizeof(native.ipv6));
  const SocketAddress own = from_native(native);
  return own.bytes == local.bytes && (local.scope_id == 0 || own.scope_id == local.scope_id);
}

std::size_t mtu_of(int socket, const char* name) noexcept {
  ifreq request{};
  std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  if (ioctl(socket, SIOCGIFMTU, &request) != 0 || request.ifr_mtu < 0) return 0;
  return static_cast<std::size_t>(request.ifr_mtu);
}

}  // namespace

std::size_t datagram_max(int socket, const SocketAddress& local) {
  std::size_t mtu = 0;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) == 0) {
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
    for (const ifaddrs* interface = list; interface != nullptr; interface = interface->ifa_next) {
      if (usable(*interface, local)) mtu = std::max(mtu, mtu_of(socket, interface->ifa_name));
    }
  }
  if (mtu == 0) mtu = kMtuFloor;
  return std::min(kUdpPayloadMax, mtu - std::min(mtu, ip_udp_overhead(local.family)));
}

}  // namespace longhaul::io::kernel
