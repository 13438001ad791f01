// SPDX-License-Identifier: Apache-2.0
#include "lib/io/sim/network.hpp"

#include <string>
#include <utility>

#include "lib/io/sim/network_impl.hpp"
#include "lib/io/sim/sim_backend.hpp"

namespace longhaul::sim {

Network::Network(std::uint64_t seed, base::PayloadMode mode)
    : impl_(std::make_unique<Impl>(seed, mode)) {}
Network::~Network() = default;

HostId Network::add_host(const SocketAddress& address, const HostConfig& config) {
  return impl_->add_host(address, config);
}

void Network::set_link(HostId from, HostId to, const netmodel::LinkConfig& config) {
  impl_->set_link(from, to, config);
}

netmodel::LinkStats Network::link_stats(HostId from, HostId to) const {
  const Line* line = impl_->find_line(from, to);
  return line == nullptr ? netmodel::LinkStats{} : line->link().stats();
}

Result<std::unique_ptr<io::Backend>> Network::open_backend(HostId host, std::uint16_t port) {
  if (!impl_->has_host(host)) {
    return fail(ErrorCode::invalid_argument, "the simulated network has no host " +
                                                 std::to_string(host.index) +
                                                 "; add_host() returns the ones it has");
  }
  if (port == 0) port = impl_->free_port(host);
  const Port* taken = impl_->find_port(host, port);
  if (port == 0 || (taken != nullptr && taken->open)) {
    return fail(ErrorCode::address_in_use, (port == 0 ? std::string("every UDP port from 49152 on")
                                                      : "UDP port " + std::to_string(port)) +
                                               " of simulated host " + std::to_string(host.index) +
                                               " is taken; choose another, or close a backend");
  }
  return std::make_unique<SimBackend>(*impl_, impl_->port_of(host, port));
}

void Network::rebind(HostId host, std::uint16_t port, const SocketAddress& seen_as) {
  impl_->rebind(host, port, seen_as);
}

void Network::set_filter(Filter filter) {
  impl_->set_filter(std::move(filter));
}

void Network::inject(const SocketAddress& from, const SocketAddress& to,
                     std::span<const std::byte> data) {
  impl_->inject(from, to, data);
}

base::PayloadMode Network::payload_mode() const noexcept {
  return impl_->payload_mode();
}
Timestamp Network::now() const noexcept {
  return impl_->now();
}
Timestamp Network::next_arrival() const {
  return impl_->next_arrival();
}
void Network::advance_to(Timestamp time) {
  impl_->advance_to(time);
}

bool Network::readable(HostId host, std::uint16_t port) const {
  const Port* bound = impl_->find_port(host, port);
  return bound != nullptr && !bound->inbox.empty();
}

void Network::take_arrivals(std::vector<PortId>& out) {
  impl_->take_arrivals(out);
}

std::uint64_t Network::trace_hash() const noexcept {
  return impl_->trace_hash();
}
std::uint64_t Network::datagrams_carried() const noexcept {
  return impl_->stats().carried;
}
NetworkStats Network::stats() const noexcept {
  return impl_->stats();
}

}  // namespace longhaul::sim
