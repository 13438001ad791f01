// SPDX-License-Identifier: Apache-2.0
// A network of its own with one Ethernet port whose other end is this test: it sees the frames as
// the wire would, and can leave the neighbour unknown so that the socket's send buffer fills.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "lib/io/kernel/descriptor.hpp"
#include "tests/unit/io/kernel/support.hpp"

namespace longhaul::io::kernel::test {

/// What the IPv4 and UDP headers of a frame said, and the payload.
struct Packet {
  std::uint8_t traffic_class = 0;
  bool dont_fragment = false;
  bool fragment = false;
  std::uint16_t destination_port = 0;
  Bytes payload;
};

/// 10.77.0.1/24 on an interface of MTU 1500. Sockets opened by `inside` belong to this network and
/// stay in it.
class TapNetwork {
 public:
  /// Null when this process may not make networks (CAP_SYS_ADMIN, CAP_NET_ADMIN) or there is no
  /// /dev/net/tun.
  static std::unique_ptr<TapNetwork> make();

  /// Runs `work` on a thread of the network, and waits for it.
  void inside(const std::function<void()>& work) const;
  void set_mtu(int mtu) const;
  /// Makes the port one that computes checksums itself: only to such a port does the system send
  /// without a copy.
  void offload_checksums() const;
  /// Makes 10.77.0.2 known, upon which the system lets go of all it held for it.
  void answer_for_neighbour() const;
  /// UDP packets of IPv4 that left, in order, until `count` came or `patience` ran out.
  std::vector<Packet> capture(std::size_t count, Duration patience = std::chrono::seconds(2)) const;

 private:
  TapNetwork(Descriptor network, Descriptor port) noexcept
      : network_(std::move(network)), port_(std::move(port)) {}

  Descriptor network_;
  Descriptor port_;
};

}  // namespace longhaul::io::kernel::test
