// SPDX-License-Identifier: Apache-2.0
#include "lib/io/sim/sim_backend.hpp"

#include <algorithm>

namespace longhaul::sim {

namespace {
constexpr std::size_t kUdpPayloadMax = 65507;
}  // namespace

SimBackend::SimBackend(Network::Impl& network, Port& port)
    : network_(network), port_(port), ip_max_(network.host(port.host).config.mtu) {
  const std::size_t overhead = ip_udp_overhead(port.local.family);
  capabilities_.name = "sim";
  capabilities_.datagram_max =
      std::min(kUdpPayloadMax, ip_max_ > overhead ? ip_max_ - overhead : 0);
  capabilities_.departure_times = true;
  capabilities_.ecn = true;
  capabilities_.dscp = true;
  capabilities_.wakes = false;
  port_.open = true;
}

SimBackend::~SimBackend() {
  give_back_lent();
  network_.close(port_);
}

std::size_t SimBackend::receive(Timestamp, std::span<base::RxDatagram> out) {
  ++stats_.receive_calls;
  give_back_lent();
  const std::size_t count = std::min(out.size(), port_.inbox.size());
  for (std::size_t i = 0; i < count; ++i) {
    Packet* packet = port_.inbox.front();
    port_.inbox.pop_front();
    lent_.push_back(packet);
    out[i] = {.data = packet->bytes(),
              .reference = packet->reference,
              .remote = *packet->source,
              .received_at = packet->arrival,
              .ecn = packet->ecn,
              .dscp = packet->dscp,
              .damaged = packet->damaged};
  }
  stats_.datagrams_received += count;
  return count;
}

std::size_t SimBackend::transmit(Timestamp now, std::span<const base::TxDatagram> burst) {
  ++stats_.send_calls;
  for (const base::TxDatagram& datagram : burst) {
    if (datagram.size() > capabilities_.datagram_max) {
      ++stats_.too_big;
      continue;
    }
    ++stats_.datagrams_sent;
    network_.send(port_, datagram, now);
  }
  return burst.size();
}

void SimBackend::give_back_lent() {
  for (Packet* packet : lent_) network_.packets().give_back(packet);
  lent_.clear();
}

}  // namespace longhaul::sim
