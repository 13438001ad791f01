// SPDX-License-Identifier: Apache-2.0
#include "perf/compare/programs/sockets.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <stdexcept>

namespace longhaul::compare {

namespace {

void force_buffer(int socket, int forced, int plain, std::uint64_t bytes) {
  const int value =
      static_cast<int>(std::min<std::uint64_t>(bytes, std::numeric_limits<int>::max() / 2));
  if (::setsockopt(socket, SOL_SOCKET, forced, &value, sizeof value) == 0) return;
  must(::setsockopt(socket, SOL_SOCKET, plain, &value, sizeof value), "set a socket buffer");
}

int option_of(int socket, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(socket, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

}  // namespace

void fail_with_errno(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

int must(int result, const std::string& what) {
  if (result == -1) fail_with_errno(what);
  return result;
}

SystemAddress to_system(const std::string& address, std::uint16_t port) {
  SystemAddress system;
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&system.storage);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&system.storage);
  if (::inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    system.size = sizeof *v4;
  } else if (::inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    system.size = sizeof *v6;
  } else {
    throw std::runtime_error("--address \"" + address + "\" is no IP address; give one as digits");
  }
  return system;
}

void force_buffers(int socket, std::uint64_t bytes) {
  force_buffer(socket, SO_SNDBUFFORCE, SO_SNDBUF, bytes);
  force_buffer(socket, SO_RCVBUFFORCE, SO_RCVBUF, bytes);
}

std::uint64_t force_udp_buffers(std::uint64_t bytes) {
  std::uint64_t smallest = std::numeric_limits<std::uint64_t>::max();
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    const int domain = option_of(fd, SO_DOMAIN);
    if (option_of(fd, SO_TYPE) != SOCK_DGRAM || (domain != AF_INET && domain != AF_INET6)) continue;
    force_buffers(fd, bytes);
    // The kernel doubles what is asked for, to have room for its own data.
    smallest = std::min<std::uint64_t>(
        smallest, static_cast<std::uint64_t>(std::max(option_of(fd, SO_RCVBUF), 0)) / 2);
  }
  return smallest;
}

}  // namespace longhaul::compare
