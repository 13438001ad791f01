// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>

namespace longhaul::compare {

/// "what: reason", with what errno says.
[[noreturn]] void fail_with_errno(const std::string& what);
/// The value of a call, if it is not -1.
int must(int result, const std::string& what);

struct SystemAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const noexcept { return storage.ss_family; }
};
/// Throws std::runtime_error if `address` is no IP address.
SystemAddress to_system(const std::string& address, std::uint16_t port);

/// Send and receive buffer, beyond what net.core.{w,r}mem_max lets others have if this process may
/// (CAP_NET_ADMIN).
void force_buffers(int socket, std::uint64_t bytes);
/// The same for every UDP socket of this process: libraries that own their sockets ask for large
/// buffers and get net.core.rmem_max without a word. Says how many bytes of receive buffer the
/// smallest has now.
std::uint64_t force_udp_buffers(std::uint64_t bytes);

}  // namespace longhaul::compare
