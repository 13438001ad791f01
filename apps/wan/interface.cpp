// SPDX-License-Identifier: Apache-2.0
#include "apps/wan/interface.hpp"

#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "apps/common/printable.hpp"
#include "apps/common/units.hpp"

namespace longhaul::apps::wan {

namespace {

struct Offload {
  std::string_view name;  // as ethtool -K has it
  std::uint32_t get;
  std::uint32_t set;
};

// In the order to switch them off: segmentation stands on the checksum.
constexpr std::array kOffloads{
    Offload{"tso", ETHTOOL_GTSO, ETHTOOL_STSO},      Offload{"gso", ETHTOOL_GGSO, ETHTOOL_SGSO},
    Offload{"ufo", ETHTOOL_GUFO, ETHTOOL_SUFO},      Offload{"gro", ETHTOOL_GGRO, ETHTOOL_SGRO},
    Offload{"tx", ETHTOOL_GTXCSUM, ETHTOOL_STXCSUM},
};

ifreq request_for(const std::string& name) {
  ifreq request{};
  std::copy_n(name.data(), std::min<std::size_t>(name.size(), IFNAMSIZ - 1), request.ifr_name);
  return request;
}

FileDescriptor control_socket() {
  return FileDescriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

/// 1 on, 0 off, -1 what this interface has no word for.
int ask(int fd, const std::string& name, std::uint32_t command) {
  ifreq request = request_for(name);
  ethtool_value value{command, 0};
  request.ifr_data = reinterpret_cast<char*>(&value);
  if (::ioctl(fd, SIOCETHTOOL, &request) != 0) return -1;
  return value.data != 0 ? 1 : 0;
}

bool tell(int fd, const std::string& name, std::uint32_t command, bool on) {
  ifreq request = request_for(name);
  ethtool_value value{command, on ? 1u : 0u};
  request.ifr_data = reinterpret_cast<char*>(&value);
  return ::ioctl(fd, SIOCETHTOOL, &request) == 0;
}

}  // namespace

Result<InterfaceFacts> look_up(const std::string& name) {
  const FileDescriptor fd = control_socket();
  ifreq request = request_for(name);
  if (::ioctl(fd.get(), SIOCGIFINDEX, &request) != 0) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("there is no interface {0} in this network namespace; `ip link` lists "
                            "those there are, tap:{0} would make one",
                            printable(name)));
  }
  InterfaceFacts facts{request.ifr_ifindex, 0};
  if (::ioctl(fd.get(), SIOCGIFHWADDR, &request) != 0 ||
      request.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
    return fail(ErrorCode::unsupported,
                fmt::format("{} is no Ethernet interface; take one end of a veth pair, a card, or "
                            "tap:NAME",
                            name));
  }
  if (::ioctl(fd.get(), SIOCGIFFLAGS, &request) != 0 || (request.ifr_flags & IFF_UP) == 0) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("interface {0} is down; ip link set {0} up", name));
  }
  if (::ioctl(fd.get(), SIOCGIFMTU, &request) != 0) {
    return fail(ErrorCode::system, fmt::format("the MTU of {} cannot be read", name), errno);
  }
  facts.mtu = static_cast<std::size_t>(request.ifr_mtu);
  return facts;
}

std::optional<InterfaceState> state_of(int index) noexcept {
  const FileDescriptor fd = control_socket();
  ifreq request{};
  request.ifr_ifindex = index;
  if (::ioctl(fd.get(), SIOCGIFNAME, &request) != 0 ||
      ::ioctl(fd.get(), SIOCGIFFLAGS, &request) != 0)
    return {};
  if ((request.ifr_flags & IFF_UP) == 0) return InterfaceState::down;
  return (request.ifr_flags & IFF_RUNNING) == 0 ? InterfaceState::no_carrier : InterfaceState::up;
}

Result<FileDescriptor> claim(const std::string& name) {
  FileDescriptor fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return fail(ErrorCode::system, "no local socket", errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A leading zero byte: a name without a file, which lives as long as the socket.
  const std::string text = fmt::format("longhaul-wan/{}", name);
  std::copy(text.begin(), text.end(), address.sun_path + 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    return fail(
        ErrorCode::address_in_use,
        fmt::format("another longhaul-wan bridges {}; stop it, or take another interface", name));
  }
  return fd;
}

Result<OffloadsOff> OffloadsOff::apply(const std::string& name, std::vector<std::string>& notes) {
  const FileDescriptor fd = control_socket();
  OffloadsOff off(name);
  std::string words;
  for (const Offload& offload : kOffloads) {
    if (ask(fd.get(), name, offload.get) != 1) continue;
    if (!tell(fd.get(), name, offload.set, false) || ask(fd.get(), name, offload.get) == 1) {
      return fail(
          ErrorCode::no_permission,
          fmt::format("{0} keeps its offload {1}, which lets packets larger than the MTU or "
                      "without checksum onto the line; ethtool -K {0} {1} off",
                      name, offload.name));
    }
    off.changed_.insert(off.changed_.begin(), offload.set);
    words += fmt::format(" {}", offload.name);
  }
  if (!words.empty()) notes.push_back(fmt::format("{}: switched off{}", name, words));
  return off;
}

OffloadsOff::~OffloadsOff() {
  if (changed_.empty()) return;
  const FileDescriptor fd = control_socket();
  for (const std::uint32_t command : changed_) tell(fd.get(), name_, command, true);
}

Result<void> bring_up(const std::string& name) {
  constexpr int kQueuePackets = 10'000;
  const FileDescriptor fd = control_socket();
  ifreq request = request_for(name);
  request.ifr_qlen = kQueuePackets;
  if (::ioctl(fd.get(), SIOCSIFTXQLEN, &request) != 0 ||
      ::ioctl(fd.get(), SIOCGIFFLAGS, &request) != 0) {
    return fail(ErrorCode::system, fmt::format("{} cannot be set up", name), errno);
  }
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  if (::ioctl(fd.get(), SIOCSIFFLAGS, &request) != 0) {
    return fail(ErrorCode::system, fmt::format("{} cannot be brought up", name), errno);
  }
  return {};
}

}  // namespace longhaul::apps::wan
