// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lib/io/sim/network_impl.hpp"

namespace longhaul::sim {

/// A port of a simulated host. Sends at the time it is told, never blocks and never sleeps.
class SimBackend final : public io::Backend {
 public:
  SimBackend(Network::Impl& network, Port& port);
  ~SimBackend() override;
  SimBackend(const SimBackend&) = delete;
  SimBackend& operator=(const SimBackend&) = delete;

  const io::Capabilities& capabilities() const override { return capabilities_; }
  SocketAddress local_address() const override { return port_.local; }
  std::size_t receive(Timestamp now, std::span<base::RxDatagram> out) override;
  std::size_t transmit(Timestamp now, std::span<const base::TxDatagram> burst) override;
  void wait(Duration) override {}
  void wake() override {}
  Result<void> register_memory(Region, std::span<std::byte>) override { return {}; }
  void unregister_memory(Region) override {}
  io::BackendStats stats() const override { return stats_; }

 private:
  void give_back_lent();

  Network::Impl& network_;
  Port& port_;
  std::size_t ip_max_;
  io::Capabilities capabilities_;
  io::BackendStats stats_{};
  std::vector<Packet*> lent_;  // handed over by the last `receive`
};

}  // namespace longhaul::sim
