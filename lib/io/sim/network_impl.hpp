// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "lib/base/fifo.hpp"
#include "lib/io/sim/due_heap.hpp"
#include "lib/io/sim/line.hpp"
#include "lib/io/sim/network.hpp"
#include "lib/io/sim/packet_pool.hpp"
#include "lib/io/sim/trace_hash.hpp"

namespace longhaul::sim {

struct Port;

/// What the world finds at an address. Never deleted, so packets may point to it; `port` is null
/// while nothing answers there.
struct Binding {
  SocketAddress address;
  std::uint32_t host = 0;
  Port* port = nullptr;
};

struct AddressHash {
  std::size_t operator()(const SocketAddress& address) const noexcept;
};

/// Ways a port knows to its peers; direct-mapped, so that a packet needs no search.
class RouteCache {
 public:
  struct Route {
    SocketAddress remote;
    Binding* destination = nullptr;
    Line* line = nullptr;
    std::uint64_t version = 0;
  };
  Route& slot(const SocketAddress& remote) noexcept {
    return routes_[AddressHash{}(remote) % routes_.size()];
  }

 private:
  std::array<Route, 64> routes_{};
};

/// A UDP port of a host, open or not.
struct Port {
  std::uint32_t host = 0;
  SocketAddress local;
  Binding* seen_as = nullptr;
  bool open = false;
  base::Fifo<Packet*> inbox;  // in order of arrival
  bool arrived = false;       // in Impl::arrivals_
  RouteCache routes;
};

struct Host {
  Host(const SocketAddress& host_address, const HostConfig& host_config, std::uint32_t index)
      : address(host_address), config(host_config), trace(index) {}

  SocketAddress address;
  HostConfig config;
  std::vector<Line*> incoming;  // by Line::Numbers::slot
  DueHeap lines;                // by slot
  Timestamp due = kNever;       // in Impl::hosts_due_
  TraceHash trace;              // of what arrived and found nobody
  std::vector<std::unique_ptr<Port>> ports;
};

class Network::Impl {
 public:
  Impl(std::uint64_t seed, base::PayloadMode mode);

  HostId add_host(const SocketAddress& address, const HostConfig& config);
  void set_link(HostId from, HostId to, const netmodel::LinkConfig& config);
  const Line* find_line(HostId from, HostId to) const;
  Port* find_port(HostId host, std::uint16_t number) const;
  /// A port nobody has open; 0 if there is none.
  std::uint16_t free_port(HostId host) const;
  /// The port, made if need be.
  Port& port_of(HostId host, std::uint16_t number);
  void close(Port& port);
  void rebind(HostId host, std::uint16_t number, const SocketAddress& seen_as);
  void set_filter(Filter filter) { filter_ = std::move(filter); }
  void inject(const SocketAddress& from, const SocketAddress& to, std::span<const std::byte> data);

  bool has_host(HostId host) const noexcept { return host.index < hosts_.size(); }
  Host& host(std::uint32_t index) noexcept { return *hosts_[index]; }
  base::PayloadMode payload_mode() const noexcept { return mode_; }
  Timestamp now() const noexcept { return now_; }
  Timestamp next_arrival() const noexcept { return hosts_due_.first(); }
  void advance_to(Timestamp time);
  void take_arrivals(std::vector<PortId>& out);
  std::uint64_t trace_hash() const noexcept;
  const NetworkStats& stats() const noexcept { return stats_; }

  /// Takes a datagram from an open port. The host's MTU has been looked at.
  void send(Port& port, const base::TxDatagram& datagram, Timestamp now);
  PacketPool& packets() noexcept { return packets_; }

 private:
  Binding* binding_at(const SocketAddress& address);
  Line& make_line(std::uint32_t from, std::uint32_t to, const netmodel::LinkConfig& config);
  Line* line_between(std::uint32_t from, std::uint32_t to) const;
  const RouteCache::Route* route(Port& port, const SocketAddress& remote);
  void count_no_route(const SocketAddress& to, std::size_t size);

  void launch(Line& line, Packet* packet, Timestamp entry);
  void enter(Line& line, Packet* packet, Timestamp entry);
  void enter_until(Timestamp time);
  void refresh(Line& line);
  void update_host(std::uint32_t index);
  void collect(Host& host, Timestamp visible);
  void deliver(Host& host, Packet* packet);

  std::uint64_t seed_;
  base::PayloadMode mode_;
  Timestamp now_{};
  PacketPool packets_;
  Filter filter_;
  NetworkStats stats_{};
  TraceHash trace_;  // of what reached no link

  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::unique_ptr<Line>> lines_;  // by Line::Numbers::id
  std::unordered_map<std::uint64_t, Line*> line_index_;
  std::unordered_map<SocketAddress, std::unique_ptr<Binding>, AddressHash> bindings_;
  std::unordered_map<SocketAddress, std::uint32_t, AddressHash> host_index_;
  std::uint64_t routes_version_ = 1;

  DueHeap entries_;    // lines by next entry
  DueHeap hosts_due_;  // hosts by the next look that may find something
  std::vector<Port*> arrivals_;
};

}  // namespace longhaul::sim
