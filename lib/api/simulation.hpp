// SPDX-License-Identifier: Apache-2.0
// Ordinary endpoints on a simulated network, in virtual time: the same worker loop and core as on a
// machine. Not installed.
#pragma once

#include <functional>
#include <memory>

#include "lib/io/sim/network.hpp"
#include "longhaul/endpoint.hpp"

namespace longhaul::api {

/// The network, its endpoints and their handles belong to one thread. Calls that wait
/// (`Transfer::wait`, `Endpoint::connect` …) let the simulation go on meanwhile, in virtual time,
/// and give up with `timed_out` when nothing is left to happen. Questions (`stats`, `dump`) are
/// answered at once and move no time. A closing endpoint sends what it has to say and is gone in
/// the same moment.
class Simulation {
 public:
  explicit Simulation(std::uint64_t seed, base::PayloadMode mode = base::PayloadMode::bytes);
  /// Closes the endpoints that are still open.
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  sim::Network& network() noexcept;
  Timestamp now() const noexcept;

  /// An endpoint on a host's port (config.local.port; address and thread mode in the config are
  /// ignored). config.inject decorates it with faults as on any backend. Without config.seed its
  /// seed follows from the simulation's and from how many were opened before. A large simulation
  /// sets config.completions_max to what it needs: the default costs 5 MiB an endpoint.
  Result<Endpoint> open(sim::HostId host, EndpointConfig config);
  /// From now on the endpoint's worker does not run (a killed or stopped process); resume undoes
  /// it.
  void suspend(const Endpoint& endpoint);
  void resume(const Endpoint& endpoint);

  /// Runs every worker until all are quiet at this moment, then moves time to the next event, at
  /// most to `limit`. False once `limit` is reached.
  bool step(Timestamp limit);
  void run_for(Duration duration);
  /// Steps until `done()` holds or `limit` has passed; returns whether it holds.
  bool run_until(const std::function<bool()>& done, Duration limit);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longhaul::api
