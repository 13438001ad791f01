// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "longhaul/address.hpp"

namespace longhaul::endpoint {

/// Handshakes that clients have begun and not ended: what strangers make a server compute and keep.
class HalfOpen {
 public:
  void add(const SocketAddress& client, std::uint32_t cid) {
    entries_.push_back({address_of(client), cid});
  }
  /// Forgets those for which `still(cid)` is false. Call it before asking for counts.
  template <typename Still>
  void keep_if(Still still) {
    std::erase_if(entries_, [&](const Entry& entry) { return !still(entry.cid); });
  }
  std::size_t size() const noexcept { return entries_.size(); }
  /// The one that was begun first. Precondition: size() > 0.
  std::uint32_t oldest() const noexcept { return entries_.front().cid; }
  /// Of one address, whatever the port.
  std::size_t from(const SocketAddress& client) const {
    return static_cast<std::size_t>(
        std::ranges::count(entries_, address_of(client), &Entry::address));
  }

 private:
  struct Entry {
    SocketAddress address;
    std::uint32_t cid = 0;
  };
  // An IPv6 client has as many addresses as it likes in its /64.
  static SocketAddress address_of(SocketAddress client) noexcept {
    client.port = 0;
    if (client.family == AddressFamily::ipv6)
      std::fill(client.bytes.begin() + 8, client.bytes.end(), std::uint8_t{0});
    return client;
  }
  std::vector<Entry> entries_;
};

}  // namespace longhaul::endpoint
