// SPDX-License-Identifier: Apache-2.0
// The simulated world: hosts, links, virtual time, one seed. Backends of its hosts are handed to
// ordinary workers, which cannot tell the difference.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "lib/base/datagram.hpp"
#include "lib/io/backend.hpp"
#include "lib/netmodel/link_config.hpp"

namespace longhaul::sim {

struct HostId {
  std::uint32_t index = 0;
  friend bool operator==(const HostId&, const HostId&) = default;
};

struct HostConfig {
  /// Datagrams that arrive within this time of each other are handed over together, as a poll loop
  /// or an interrupt would. 0 = each at its own time.
  Duration poll_interval = std::chrono::microseconds(10);
  /// Largest IP packet of the host's interface.
  std::uint32_t mtu = 9000;
};

/// What a filter sees of a datagram about to enter a link, and may do with it.
struct FilterView {
  Timestamp now{};
  HostId from{};
  HostId to{};
  std::span<const std::byte> head;  ///< header and, for control packets, frames
  std::size_t size = 0;             ///< UDP payload
};
enum class Verdict : std::uint8_t { pass, drop };
using Filter = std::function<Verdict(const FilterView&)>;

class Network {
 public:
  Network(std::uint64_t seed, base::PayloadMode mode);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  HostId add_host(const SocketAddress& address, const HostConfig& config = {});
  /// One direction. Calling it again changes the link from now on (what is on the wire stays
  /// there).
  void set_link(HostId from, HostId to, const netmodel::LinkConfig& config);
  netmodel::LinkStats link_stats(HostId from, HostId to) const;
  /// Binds a port of the host. The backend must not outlive the network.
  Result<std::unique_ptr<io::Backend>> open_backend(HostId host, std::uint16_t port);
  /// The world sees `port` of the host under another address from now on, as behind a NAT that
  /// rebinds; datagrams to the old address vanish.
  void rebind(HostId host, std::uint16_t port, const SocketAddress& seen_as);
  /// Looks at every datagram before the link; none = pass all.
  void set_filter(Filter filter);
  /// Puts a datagram made by a test on the wire as if `from` had sent it.
  void inject(const SocketAddress& from, const SocketAddress& to, std::span<const std::byte> data);

  base::PayloadMode payload_mode() const noexcept;
  Timestamp now() const noexcept;
  /// Earliest moment at which some backend has something to receive; kNever if none.
  Timestamp next_arrival() const;
  /// Moves time; never backwards.
  void advance_to(Timestamp time);
  /// Hash over every datagram's (time, from, to, size, fate), the same in both payload modes and on
  /// every compiler.
  std::uint64_t trace_hash() const noexcept;
  std::uint64_t datagrams_carried() const noexcept;

 private:
  friend class SimBackend;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longhaul::sim
