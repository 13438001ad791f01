// SPDX-License-Identifier: Apache-2.0
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "longhaul/address.hpp"

namespace longhaul {
namespace {

SocketAddress from_system(const addrinfo& info, std::uint16_t port) {
  SocketAddress address;
  address.port = port;
  if (info.ai_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, info.ai_addr, sizeof in);
    address.family = AddressFamily::ipv4;
    std::memcpy(address.bytes.data(), &in.sin_addr, 4);
  } else {
    sockaddr_in6 in{};
    std::memcpy(&in, info.ai_addr, sizeof in);
    address.family = AddressFamily::ipv6;
    std::memcpy(address.bytes.data(), &in.sin6_addr, 16);
    address.scope_id = in.sin6_scope_id;
  }
  return address;
}

std::string_view name_of(AddressFamily family) noexcept {
  return family == AddressFamily::ipv4 ? "IPv4" : "IPv6";
}

int native(std::optional<AddressFamily> family) noexcept {
  if (!family) return AF_UNSPEC;
  return *family == AddressFamily::ipv4 ? AF_INET : AF_INET6;
}

}  // namespace

Result<SocketAddress> resolve(std::string_view host, std::uint16_t port,
                              std::optional<AddressFamily> family) {
  if (auto numeric = SocketAddress::parse(host, port)) {
    if (!family || numeric->family == *family) return numeric;
    return fail(ErrorCode::wrong_family,
                std::string(host) + " is no " + std::string(name_of(*family)) + " address");
  }
  if (host.empty() || host.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::unknown_host, "the host name is empty or not text");
  }
  const std::string name(host);
  addrinfo hints{};
  hints.ai_family = native(family);
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(name.c_str(), nullptr, &hints, &found);
  const int system_error = error == EAI_SYSTEM ? errno : 0;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> guard(found, &freeaddrinfo);
  if (error != 0) {
    return fail(ErrorCode::unknown_host,
                "\"" + name + "\" does not resolve" +
                    (family ? " to " + std::string(name_of(*family)) : "") + ": " +
                    gai_strerror(error),
                system_error);
  }
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    if (info->ai_family == AF_INET || info->ai_family == AF_INET6) return from_system(*info, port);
  }
  return fail(ErrorCode::unknown_host, "\"" + name + "\" has no IPv4 or IPv6 address");
}

}  // namespace longhaul
