// SPDX-License-Identifier: Apache-2.0
#include "lib/io/sim/network_impl.hpp"

#include <algorithm>
#include <cstring>

#include "lib/base/assert.hpp"
#include "lib/netmodel/corruption.hpp"

namespace longhaul::sim {

namespace {

constexpr Duration kLeastTransit{1};
constexpr std::uint16_t kFirstFreePort = 49152;

// Fates of the trace beyond those of netmodel::Fate.
constexpr std::uint64_t kFiltered = 16;
constexpr std::uint64_t kNoRoute = 17;
constexpr std::uint64_t kUnbound = 18;

constexpr std::uint64_t pair_key(std::uint32_t from, std::uint32_t to) noexcept {
  return (std::uint64_t{from} << 32) | to;
}

SocketAddress without_port(SocketAddress address) noexcept {
  address.port = 0;
  return address;
}

Timestamp next_look(Timestamp time, Duration interval) noexcept {
  if (time == kNever || interval <= Duration{0}) return time;
  const Duration beyond = time.time_since_epoch() % interval;
  return beyond == Duration{0} ? time : time + (interval - beyond);
}

Timestamp last_look(Timestamp time, Duration interval) noexcept {
  if (interval <= Duration{0}) return time;
  return time - time.time_since_epoch() % interval;
}

}  // namespace

std::size_t AddressHash::operator()(const SocketAddress& address) const noexcept {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::memcpy(&high, address.bytes.data(), sizeof high);
  std::memcpy(&low, address.bytes.data() + sizeof high, sizeof low);
  std::uint64_t hash = (high ^ address.port) * 0x9fb21c651e98df25ULL;
  hash = (hash ^ (hash >> 32) ^ low) * 0x9fb21c651e98df25ULL;
  return static_cast<std::size_t>(hash ^ (hash >> 32));
}

Network::Impl::Impl(std::uint64_t seed, base::PayloadMode mode)
    : seed_(seed), mode_(mode), packets_(mode), trace_(0) {}

HostId Network::Impl::add_host(const SocketAddress& address, const HostConfig& config) {
  const auto index = static_cast<std::uint32_t>(hosts_.size());
  const bool added = host_index_.emplace(without_port(address), index).second;
  LONGHAUL_ASSERT(added);
  hosts_.push_back(std::make_unique<Host>(without_port(address), config, index));
  return HostId{index};
}

void Network::Impl::set_link(HostId from, HostId to, const netmodel::LinkConfig& config) {
  LONGHAUL_ASSERT(has_host(from) && has_host(to));
  Line* line = line_between(from.index, to.index);
  if (line == nullptr) {
    make_line(from.index, to.index, config);
    return;
  }
  line->link().configure(config);
  refresh(*line);
}

const Line* Network::Impl::find_line(HostId from, HostId to) const {
  return line_between(from.index, to.index);
}

Port* Network::Impl::find_port(HostId host, std::uint16_t number) const {
  if (!has_host(host)) return nullptr;
  for (const auto& port : hosts_[host.index]->ports) {
    if (port->local.port == number) return port.get();
  }
  return nullptr;
}

std::uint16_t Network::Impl::free_port(HostId host) const {
  for (std::uint32_t number = kFirstFreePort; number <= 0xffff; ++number) {
    const Port* port = find_port(host, static_cast<std::uint16_t>(number));
    if (port == nullptr || !port->open) return static_cast<std::uint16_t>(number);
  }
  return 0;
}

Port& Network::Impl::port_of(HostId host, std::uint16_t number) {
  if (Port* port = find_port(host, number)) return *port;
  Host& owner = *hosts_[host.index];
  Port& port = *owner.ports.emplace_back(std::make_unique<Port>());
  port.host = host.index;
  port.local = owner.address;
  port.local.port = number;
  port.seen_as = binding_at(port.local);
  port.seen_as->port = &port;
  return port;
}

void Network::Impl::close(Port& port) {
  for (; !port.inbox.empty(); port.inbox.pop_front()) packets_.give_back(port.inbox.front());
  port.open = false;
}

void Network::Impl::rebind(HostId host, std::uint16_t number, const SocketAddress& seen_as) {
  LONGHAUL_ASSERT(has_host(host) && number != 0);
  Port& port = port_of(host, number);
  port.seen_as->port = nullptr;
  std::unique_ptr<Binding>& binding = bindings_[seen_as];
  if (!binding) binding = std::make_unique<Binding>();
  LONGHAUL_ASSERT(binding->port == nullptr || !binding->port->open);
  *binding = Binding{seen_as, host.index, &port};
  port.seen_as = binding.get();
  ++routes_version_;
}

void Network::Impl::inject(const SocketAddress& from, const SocketAddress& to,
                           std::span<const std::byte> data) {
  LONGHAUL_ASSERT(data.size() <= io::BufferPool::kBytesMax);
  Binding* destination = binding_at(to);
  if (destination == nullptr || destination->host == kOutside.index) {
    count_no_route(to, data.size());
    return;
  }
  Binding* source = binding_at(from);
  if (source == nullptr) {
    auto binding = std::make_unique<Binding>(Binding{from, kOutside.index, nullptr});
    source = bindings_.emplace(from, std::move(binding)).first->second.get();
  }
  Line* line = line_between(source->host, destination->host);
  if (line == nullptr && source->host == kOutside.index) {
    line = &make_line(kOutside.index, destination->host, {});
  }
  if (line == nullptr) {
    count_no_route(to, data.size());
    return;
  }
  Packet* packet = packets_.take(data);
  packet->source = &source->address;
  packet->destination = destination;
  launch(*line, packet, now_);
}

void Network::Impl::send(Port& port, const base::TxDatagram& datagram, Timestamp now) {
  const RouteCache::Route* way = route(port, datagram.remote);
  if (way == nullptr) {
    count_no_route(datagram.remote, datagram.size());
    return;
  }
  Packet* packet = packets_.take(datagram);
  packet->source = &port.seen_as->address;
  packet->destination = way->destination;
  launch(*way->line, packet, std::max({now_, now, datagram.departure}));
}

void Network::Impl::advance_to(Timestamp time) {
  if (time < now_) return;
  enter_until(time);
  now_ = time;
  while (hosts_due_.first() <= time) {
    Host& host = *hosts_[hosts_due_.first_id()];
    collect(host, last_look(time, host.config.poll_interval));
  }
}

std::uint64_t Network::Impl::trace_hash() const noexcept {
  TraceHash all = trace_;
  for (const auto& line : lines_) all.absorb(line->trace().value());
  for (const auto& host : hosts_) all.absorb(host->trace.value());
  return all.value();
}

Binding* Network::Impl::binding_at(const SocketAddress& address) {
  if (const auto found = bindings_.find(address); found != bindings_.end()) {
    return found->second.get();
  }
  const auto owner = host_index_.find(without_port(address));
  if (owner == host_index_.end()) return nullptr;
  auto binding = std::make_unique<Binding>(Binding{address, owner->second, nullptr});
  return bindings_.emplace(address, std::move(binding)).first->second.get();
}

Line& Network::Impl::make_line(std::uint32_t from, std::uint32_t to,
                               const netmodel::LinkConfig& config) {
  // Every link has its own stream, whatever the others draw and in whatever order they were made.
  base::Random per_network(seed_);
  base::Random per_link(per_network.next() ^ (pair_key(from, to) * 0xd1342543de82ef95ULL));
  Host& host = *hosts_[to];
  const Line::Numbers numbers{from, to, static_cast<std::uint32_t>(lines_.size()),
                              static_cast<std::uint32_t>(host.incoming.size())};
  Line& line = *lines_.emplace_back(std::make_unique<Line>(numbers, per_link.next(), config));
  host.incoming.push_back(&line);
  line_index_.emplace(pair_key(from, to), &line);
  ++routes_version_;
  return line;
}

Line* Network::Impl::line_between(std::uint32_t from, std::uint32_t to) const {
  const auto found = line_index_.find(pair_key(from, to));
  return found == line_index_.end() ? nullptr : found->second;
}

const RouteCache::Route* Network::Impl::route(Port& port, const SocketAddress& remote) {
  RouteCache::Route& cached = port.routes.slot(remote);
  if (cached.version == routes_version_ && cached.remote == remote) return &cached;
  Binding* destination = binding_at(remote);
  if (destination == nullptr) return nullptr;
  Line* line = line_between(port.host, destination->host);
  if (line == nullptr) return nullptr;
  cached = {remote, destination, line, routes_version_};
  return &cached;
}

void Network::Impl::count_no_route(const SocketAddress& to, std::size_t size) {
  ++stats_.no_route;
  trace_.absorb(now_);
  trace_.absorb(AddressHash{}(to));
  trace_.absorb(size | (kNoRoute << 32));
}

// A departure in the future is kept aside until then: a packet sent later may still go before it.
void Network::Impl::launch(Line& line, Packet* packet, Timestamp entry) {
  if (entry <= now_) {
    enter(line, packet, now_);
    refresh(line);
    return;
  }
  const Timestamp first = line.next_entry();
  line.wait_for_entry(packet, entry, ip_udp_overhead(packet->destination->address.family));
  if (entry >= first) return;
  entries_.set(line.numbers().id, entry);
  refresh(line);
}

// The caller refreshes the line.
void Network::Impl::enter(Line& line, Packet* packet, Timestamp entry) {
  const std::size_t size = packet->size();
  if (filter_) {
    const FilterView view{entry, HostId{line.numbers().from}, HostId{line.numbers().to},
                          packet->bytes(), size};
    if (filter_(view) == Verdict::drop) {
      ++stats_.filtered;
      line.trace().absorb(entry);
      line.trace().absorb(size | (kFiltered << 32));
      packets_.give_back(packet);
      return;
    }
  }
  ++stats_.carried;
  const netmodel::Outcome outcome =
      line.link().offer(entry, size, ip_udp_overhead(packet->destination->address.family));
  line.trace().absorb(entry);
  line.trace().absorb(size | (static_cast<std::uint64_t>(outcome.fate) << 32) |
                      (std::uint64_t{outcome.copies} << 40) |
                      (std::uint64_t{outcome.corruption != 0} << 48));
  if (outcome.copies == 0) {
    packets_.give_back(packet);
    return;
  }
  if (outcome.corruption != 0) {
    netmodel::damage(packet->bytes(), size, outcome.corruption);
    if (mode_ == base::PayloadMode::reference) packet->damaged = true;
  }
  Packet* twin = outcome.copies == 2 ? packets_.copy(*packet) : nullptr;
  for (std::size_t i = 0; i < outcome.copies; ++i) {
    Packet* copy = i == 0 ? packet : twin;
    copy->arrival = std::max(outcome.deliveries[i].arrival, entry + kLeastTransit);
    line.trace().absorb(copy->arrival);
    line.fly(copy, outcome.deliveries[i].in_order);
  }
}

// In order over all links, which is what a filter sees.
void Network::Impl::enter_until(Timestamp time) {
  while (entries_.first() <= time) {
    Line& line = *lines_[entries_.first_id()];
    for (;;) {
      const Timestamp entry = line.next_entry();
      if (entry > time || entries_.another_before(entry)) break;
      now_ = std::max(now_, entry);
      enter(line, line.take_entering(), entry);
    }
    entries_.set(line.numbers().id, line.next_entry());
    refresh(line);
  }
}

void Network::Impl::refresh(Line& line) {
  Host& host = *hosts_[line.numbers().to];
  const Timestamp due = line.due();
  if (due == line.published_due) return;
  line.published_due = due;
  host.lines.set(line.numbers().slot, due);
  update_host(line.numbers().to);
}

void Network::Impl::update_host(std::uint32_t index) {
  Host& host = *hosts_[index];
  const Timestamp due = next_look(host.lines.first(), host.config.poll_interval);
  if (due == host.due) return;
  host.due = due;
  hosts_due_.set(index, due);
}

// All links into the host merged by arrival, up to its last look.
void Network::Impl::collect(Host& host, Timestamp visible) {
  std::uint32_t to = 0;
  while (host.lines.first() <= visible) {
    Line& line = *host.incoming[host.lines.first_id()];
    to = line.numbers().to;
    for (;;) {
      const Timestamp arrival = line.next_arrival();
      if (arrival > visible || host.lines.another_before(arrival)) break;
      deliver(host, line.take_arrived());
    }
    line.published_due = line.due();
    host.lines.set(line.numbers().slot, line.published_due);
  }
  update_host(to);
}

void Network::Impl::deliver(Host& host, Packet* packet) {
  Port* port = packet->destination->port;
  if (port == nullptr || !port->open) {
    ++stats_.unbound;
    host.trace.absorb(packet->arrival);
    host.trace.absorb(packet->size() | (kUnbound << 32));
    packets_.give_back(packet);
    return;
  }
  port->inbox.push_back(packet);
  if (port->arrived) return;
  port->arrived = true;
  arrivals_.push_back(port);
}

void Network::Impl::take_arrivals(std::vector<PortId>& out) {
  for (Port* port : arrivals_) {
    port->arrived = false;
    out.push_back({HostId{port->host}, port->local.port});
  }
  arrivals_.clear();
}

}  // namespace longhaul::sim
