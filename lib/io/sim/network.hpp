// SPDX-License-Identifier: Apache-2.0
// The simulated world: hosts, links, virtual time, one seed. Backends of its hosts are handed to
// ordinary workers, which cannot tell the difference.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lib/base/datagram.hpp"
#include "lib/io/backend.hpp"
#include "lib/netmodel/link_config.hpp"

namespace longhaul::sim {

struct HostId {
  std::uint32_t index = 0;
  friend bool operator==(const HostId&, const HostId&) = default;
};

/// Where datagrams injected under an address of no host come from.
inline constexpr HostId kOutside{0xffffffff};

struct HostConfig {
  /// The host looks at its interface at the multiples of this time only, as a poll loop or a
  /// moderated interrupt does: what arrived since the last look is handed over together, in order
  /// of arrival. 0 = each datagram at its own time. `received_at` is the arrival, not the look.
  Duration poll_interval = std::chrono::microseconds(10);
  /// Largest IP packet of the host's interface.
  std::uint32_t mtu = 9000;
};

/// What a filter sees of a datagram about to enter a link, and may do with it.
struct FilterView {
  Timestamp now{};  ///< when it enters: its departure time if that was later than the call
  HostId from{};    ///< kOutside for injected ones under an address of no host
  HostId to{};
  std::span<const std::byte> head;  ///< header and, for control packets, frames
  std::size_t size = 0;             ///< UDP payload
};
enum class Verdict : std::uint8_t { pass, drop };
using Filter = std::function<Verdict(const FilterView&)>;

/// A port of a host.
struct PortId {
  HostId host{};
  std::uint16_t port = 0;
};

/// What happened outside the links.
struct NetworkStats {
  std::uint64_t carried = 0;   ///< entered a link, whatever came of them
  std::uint64_t filtered = 0;  ///< dropped by the filter
  std::uint64_t no_route = 0;  ///< to an address of no host, or between hosts without a link
  std::uint64_t unbound = 0;   ///< arrived where no backend is open, copies counted each
};

/// Time only moves in `advance_to`. Nothing arrives at the moment it was sent: the least transit is
/// one nanosecond, so what a backend can receive at a moment is fixed when time reaches it.
class Network {
 public:
  Network(std::uint64_t seed, base::PayloadMode mode);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// `address.port` means nothing. No two hosts have the same address.
  HostId add_host(const SocketAddress& address, const HostConfig& config = {});
  /// One direction. Calling it again changes the link from now on (what is on the wire stays
  /// there). Hosts without a link cannot reach each other.
  void set_link(HostId from, HostId to, const netmodel::LinkConfig& config);
  /// All zero if there is no link.
  netmodel::LinkStats link_stats(HostId from, HostId to) const;
  /// Binds a port of the host; 0 = the next free one from 49152 on. The backend must not outlive
  /// the network. Closed ports may be bound again.
  Result<std::unique_ptr<io::Backend>> open_backend(HostId host, std::uint16_t port);
  /// The world sees `port` of the host under another address from now on, as behind a NAT that
  /// rebinds; datagrams to the old address vanish, those on their way too.
  void rebind(HostId host, std::uint16_t port, const SocketAddress& seen_as);
  /// Looks at every datagram before the link, in order of entry; none = pass all. It may call
  /// `inject`, and then sees that datagram as well.
  void set_filter(Filter filter);
  /// Puts a datagram made by a test on the wire as if `from` had sent it. If `from` is an address
  /// of no host (spoofed) it takes an ideal link.
  void inject(const SocketAddress& from, const SocketAddress& to, std::span<const std::byte> data);

  base::PayloadMode payload_mode() const noexcept;
  Timestamp now() const noexcept;
  /// Earliest moment after `now()` at which a backend may get something new; kNever if nothing is
  /// under way. It is exact unless datagrams with a later departure time still have to meet jitter
  /// or loss; then time may get there in vain, never too late. Datagrams that wait to be received
  /// already (see `readable`) do not count.
  Timestamp next_arrival() const;
  /// Moves time; an earlier time than `now()` changes nothing.
  void advance_to(Timestamp time);
  /// True if the backend of this port has datagrams to receive at `now()`.
  bool readable(HostId host, std::uint16_t port) const;
  /// Appends the ports that got datagrams since the last call, each once, in order of their first
  /// arrival: who turns many workers need not ask each of them.
  void take_arrivals(std::vector<PortId>& out);

  /// Hash over every datagram's (entry, from, to, size, fate, arrivals), in order per link; the
  /// same in both payload modes and on every compiler.
  std::uint64_t trace_hash() const noexcept;
  /// NetworkStats::carried.
  std::uint64_t datagrams_carried() const noexcept;
  NetworkStats stats() const noexcept;

 private:
  friend class SimBackend;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longhaul::sim
