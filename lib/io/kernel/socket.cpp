// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/socket.hpp"

#include <linux/errqueue.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <utility>

#include "lib/io/kernel/interface_mtu.hpp"
#include "lib/io/kernel/native_address.hpp"

namespace longhaul::io::kernel {
namespace {

constexpr int kFirstUnprivilegedPort = 1024;
/// Enough to empty an error queue of any size we let grow, few enough never to stay in the loop.
constexpr int kErrorsPerClear = 256;

bool set_option(int socket, int level, int name, int value) noexcept {
  return setsockopt(socket, level, name, &value, sizeof(value)) == 0;
}

/// Asks beyond the system's maximum first, which only a privileged process may, then up to it.
std::size_t set_buffer(int socket, int forced, int plain, std::size_t bytes) noexcept {
  // The system doubles the figure to leave room for its book-keeping; it must not overflow there.
  const int wanted = static_cast<int>(std::min<std::size_t>(bytes, INT_MAX / 2));
  if (!set_option(socket, SOL_SOCKET, forced, wanted)) {
    set_option(socket, SOL_SOCKET, plain, wanted);
  }
  int granted = 0;
  socklen_t size = sizeof(granted);
  getsockopt(socket, SOL_SOCKET, plain, &granted, &size);
  return static_cast<std::size_t>(std::max(granted, 0));
}

/// A kernel without UDP_SEGMENT would ignore the control message and send one huge datagram.
bool has_segmentation(int socket) noexcept {
  int value = 0;
  socklen_t size = sizeof(value);
  return getsockopt(socket, SOL_UDP, UDP_SEGMENT, &value, &size) == 0;
}

bool is_mapped_ipv4(const SocketAddress& address) noexcept {
  const auto& bytes = address.bytes;
  return address.family == AddressFamily::ipv6 && bytes[10] == 0xff && bytes[11] == 0xff &&
         std::all_of(bytes.begin(), bytes.begin() + 10, [](auto byte) { return byte == 0; });
}

bool is_link_local(const SocketAddress& address) noexcept {
  return address.family == AddressFamily::ipv6 && address.bytes[0] == 0xfe &&
         (address.bytes[1] & 0xc0U) == 0x80;
}

tl::unexpected<Error> option_refused(std::string option) {
  const int cause = errno;
  return fail(ErrorCode::unsupported,
              "this kernel refuses the socket option " + option + "; Linux 5.10 or later is needed",
              cause);
}

tl::unexpected<Error> bind_failed(const SocketAddress& local, int cause) {
  const std::string port = std::to_string(local.port);
  const std::string host = host_text(local);
  switch (cause) {
    case EADDRINUSE:
      if (local.port == 0) {
        return fail(ErrorCode::address_in_use,
                    "no UDP port is free on " + host +
                        "; stop other processes or name a port "
                        "outside net.ipv4.ip_local_port_range",
                    cause);
      }
      return fail(ErrorCode::address_in_use,
                  "UDP port " + port + " is taken; choose another port or stop the other process",
                  cause);
    case EACCES:
    case EPERM:
      if (local.port != 0 && local.port < kFirstUnprivilegedPort) {
        return fail(ErrorCode::no_permission,
                    "UDP port " + port +
                        " is below 1024, which needs CAP_NET_BIND_SERVICE; choose "
                        "a higher port",
                    cause);
      }
      return fail(ErrorCode::no_permission,
                  "the system does not let this process bind " + host + " port " + port +
                      "; look for a seccomp or LSM rule",
                  cause);
    case EADDRNOTAVAIL:
      return fail(ErrorCode::invalid_argument,
                  "no interface of this machine has the address " + host +
                      "; bind one that `ip address` lists, or the wildcard",
                  cause);
    default:
      return fail(ErrorCode::system, "cannot bind " + host + " UDP port " + port, cause);
  }
}

Result<void> check_local(const SocketAddress& local) {
  if (is_mapped_ipv4(local)) {
    return fail(ErrorCode::wrong_family, host_text(local) +
                                             " is an IPv4 address written as IPv6; write it as "
                                             "IPv4, such as 192.0.2.1");
  }
  if (is_link_local(local) && local.scope_id == 0) {
    return fail(ErrorCode::invalid_argument, "the link-local address " + host_text(local) +
                                                 " needs its interface, such as " +
                                                 host_text(local) + "%eth0");
  }
  return {};
}

tl::unexpected<Error> socket_failed(AddressFamily family, int cause) {
  const bool ipv4 = family == AddressFamily::ipv4;
  if (cause == EAFNOSUPPORT) {
    return fail(ErrorCode::wrong_family,
                ipv4 ? "this machine has no IPv4; use an IPv6 address"
                     : "this machine has no IPv6; use an IPv4 address",
                cause);
  }
  if (cause == EMFILE || cause == ENFILE) {
    return fail(ErrorCode::system, "no file descriptor left for a UDP socket; raise `ulimit -n`",
                cause);
  }
  const bool permission = cause == EACCES || cause == EPERM;
  return fail(permission ? ErrorCode::no_permission : ErrorCode::system,
              "the system does not give this process a UDP socket", cause);
}

Result<void> stay_on(int fd, const std::string& device) {
  if (device.empty()) return {};
  const auto size = static_cast<socklen_t>(device.size());
  if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device.data(), size) == 0) return {};
  const int cause = errno;
  if (cause == ENODEV || cause == EINVAL) {
    return fail(ErrorCode::invalid_argument,
                "this machine has no interface " + device + "; `ip link` lists them", cause);
  }
  const bool permission = cause == EACCES || cause == EPERM;
  return fail(permission ? ErrorCode::no_permission : ErrorCode::system,
              "the system does not bind the socket to interface " + device, cause);
}

/// Whether an entry of the error queue is an ICMP message that the port is closed.
bool is_refusal(msghdr& header) noexcept {
  for (cmsghdr* next = CMSG_FIRSTHDR(&header); next != nullptr; next = CMSG_NXTHDR(&header, next)) {
    const bool ipv4 = next->cmsg_level == SOL_IP && next->cmsg_type == IP_RECVERR;
    const bool ipv6 = next->cmsg_level == SOL_IPV6 && next->cmsg_type == IPV6_RECVERR;
    if (!ipv4 && !ipv6) continue;
    sock_extended_err error{};
    std::memcpy(&error, CMSG_DATA(next), sizeof(error));
    return error.ee_errno == ECONNREFUSED && error.ee_origin != SO_EE_ORIGIN_LOCAL;
  }
  return false;
}

}  // namespace

Result<Socket> Socket::open(const SocketOptions& options) {
  if (auto checked = check_local(options.local); !checked) {
    return tl::unexpected<Error>(checked.error());
  }
  const int family = options.local.family == AddressFamily::ipv4 ? AF_INET : AF_INET6;
  Descriptor descriptor(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP));
  if (!descriptor) return socket_failed(options.local.family, errno);

  Socket socket(std::move(descriptor));
  if (auto done = socket.configure(options); !done) return tl::unexpected<Error>(done.error());
  if (auto done = socket.bind_to(options.local); !done) return tl::unexpected<Error>(done.error());
  return socket;
}

Result<Socket> Socket::open_connected(const Socket& beside, const SocketAddress& peer) {
  SocketOptions options = beside.options_;
  options.local = beside.local();
  const int family = options.local.family == AddressFamily::ipv4 ? AF_INET : AF_INET6;
  Descriptor descriptor(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP));
  if (!descriptor) return socket_failed(options.local.family, errno);

  Socket socket(std::move(descriptor));
  if (auto done = socket.configure(options); !done) return tl::unexpected<Error>(done.error());
  // Both must agree to share the port while the second takes it, and only then.
  set_option(beside.number(), SOL_SOCKET, SO_REUSEADDR, 1);
  set_option(socket.number(), SOL_SOCKET, SO_REUSEADDR, 1);
  const auto bound = socket.bind_to(options.local);
  set_option(beside.number(), SOL_SOCKET, SO_REUSEADDR, 0);
  set_option(socket.number(), SOL_SOCKET, SO_REUSEADDR, 0);
  if (!bound) return tl::unexpected<Error>(bound.error());
  NativeAddress native{};
  const socklen_t size = to_native(peer, native);
  if (::connect(socket.number(), &native.any, size) != 0)
    return fail(ErrorCode::system, "cannot connect a socket to " + to_string(peer), errno);
  return socket;
}

Result<void> Socket::configure(const SocketOptions& options) {
  const int fd = number();
  options_ = options;
  if (auto stays = stay_on(fd, options.device); !stays) return stays;
  // PMTUDISC_PROBE sets DF and ignores the kernel's path MTU: the path's own search finds it.
  if (options.local.family == AddressFamily::ipv4) {
    if (!set_option(fd, SOL_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE)) {
      return option_refused("IP_MTU_DISCOVER");
    }
    if (!set_option(fd, SOL_IP, IP_RECVTOS, 1)) return option_refused("IP_RECVTOS");
  } else {
    if (!set_option(fd, SOL_IPV6, IPV6_V6ONLY, 1)) return option_refused("IPV6_V6ONLY");
    if (!set_option(fd, SOL_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE)) {
      return option_refused("IPV6_MTU_DISCOVER");
    }
    if (!set_option(fd, SOL_IPV6, IPV6_DONTFRAG, 1)) return option_refused("IPV6_DONTFRAG");
    if (!set_option(fd, SOL_IPV6, IPV6_RECVTCLASS, 1)) return option_refused("IPV6_RECVTCLASS");
  }
  // What follows makes it faster or better counted; without it the socket works all the same.
  set_option(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
  if (options.coalescing) set_option(fd, SOL_UDP, UDP_GRO, 1);
  segmentation_ = has_segmentation(fd);
  receive_buffer_ = set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, options.receive_buffer);
  send_buffer_ = set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, options.send_buffer);
  return {};
}

Result<void> Socket::bind_to(const SocketAddress& local) {
  NativeAddress native{};
  socklen_t size = to_native(local, native);
  if (::bind(number(), &native.any, size) != 0) return bind_failed(local, errno);
  if (getsockname(number(), &native.any, &size) != 0) {
    return fail(ErrorCode::system, "cannot read back the bound address", errno);
  }
  local_ = from_native(native);
  datagram_max_ = kernel::datagram_max(number(), local_);
  return {};
}

void Socket::clear_errors() const noexcept {
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(number(), SOL_SOCKET, SO_ERROR, &error, &size);
  for (int i = 0; i < kErrorsPerClear; ++i) {
    NativeAddress refused{};
    std::array<std::byte, 512> control;
    msghdr header{};
    header.msg_name = &refused;
    header.msg_namelen = sizeof(refused);
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    if (recvmsg(number(), &header, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) break;
    if (is_refusal(header)) note_refusal({from_native(refused), base::Hindrance::port_closed});
  }
}

void Socket::note_refusal(const base::Refusal& refusal) const noexcept {
  if (!refusals_.watched || refusals_.count == refusals_.found.size()) return;
  refusals_.found[refusals_.count++] = refusal;
}

void Socket::watch_refusals(bool on) noexcept {
  const bool ipv4 = local_.family == AddressFamily::ipv4;
  set_option(number(), ipv4 ? SOL_IP : SOL_IPV6, ipv4 ? IP_RECVERR : IPV6_RECVERR, on ? 1 : 0);
  refusals_.watched = on;
  if (on) return;
  // Errors that came before this would be reported on the data that follows.
  clear_errors();
  refusals_.count = 0;
}

std::size_t Socket::take_refusals(std::span<base::Refusal> out) noexcept {
  const std::size_t taken = std::min(out.size(), refusals_.count);
  std::copy_n(refusals_.found.begin(), taken, out.begin());
  std::copy(refusals_.found.begin() + static_cast<std::ptrdiff_t>(taken),
            refusals_.found.begin() + static_cast<std::ptrdiff_t>(refusals_.count),
            refusals_.found.begin());
  refusals_.count -= taken;
  return taken;
}

}  // namespace longhaul::io::kernel
