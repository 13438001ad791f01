// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lib/io/fault/fault_backend.hpp"
#include "lib/io/sim/network.hpp"
#include "tests/conformance/backends/factories.hpp"

namespace longhaul::io {

namespace {

using namespace std::chrono_literals;

SocketAddress host_address(std::uint8_t last) {
  SocketAddress address;
  address.bytes = {10, 0, 0, last};
  return address;
}

class SimPair final : public Pair {
 public:
  explicit SimPair(const EndpointConfig::InjectedFaults* faults) {
    const sim::HostId one = network_.add_host(host_address(1));
    const sim::HostId two = network_.add_host(host_address(2));
    const netmodel::LinkConfig link{.rate_bps = 10'000'000'000, .propagation = 100us};
    network_.set_link(one, two, link);
    network_.set_link(two, one, link);
    left_ = *network_.open_backend(one, 0);
    right_ = *network_.open_backend(two, 0);
    if (faults == nullptr) return;
    left_ = std::make_unique<FaultBackend>(std::move(left_), *faults, 1);
    right_ = std::make_unique<FaultBackend>(std::move(right_), *faults, 2);
  }
  Backend& left() override { return *left_; }
  Backend& right() override { return *right_; }
  Timestamp now() const override { return network_.now(); }
  void pass(Duration longest) override {
    network_.advance_to(std::min({network_.now() + longest, network_.next_arrival(),
                                  left_->next_release(), right_->next_release()}));
  }

 private:
  sim::Network network_{1, base::PayloadMode::bytes};
  std::unique_ptr<Backend> left_;
  std::unique_ptr<Backend> right_;
};

}  // namespace

std::unique_ptr<Pair> make_sim_pair(std::string&) {
  return std::make_unique<SimPair>(nullptr);
}

std::unique_ptr<Pair> make_fault_over_sim_pair(std::string&) {
  EndpointConfig::InjectedFaults faults;
  faults.delay = 200us;
  return std::make_unique<SimPair>(&faults);
}

}  // namespace longhaul::io
