// SPDX-License-Identifier: Apache-2.0
#include "lib/api/simulation.hpp"

#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/api/backend_factory.hpp"
#include "lib/api/config_check.hpp"
#include "lib/api/endpoint_impl.hpp"
#include "lib/api/wipe.hpp"
#include "lib/base/random.hpp"
#include "lib/crypto/secret_random.hpp"
#include "lib/io/sim/due_heap.hpp"
#include "lib/runtime/clock.hpp"

namespace longhaul::api {
namespace {

// A worker that always has something to do would stop time for ever; after so many turns at one
// moment it is looked at again a little later.
constexpr int kTurnsAtOnce = 4096;
constexpr Duration kBreather = std::chrono::microseconds(1);

constexpr std::uint64_t key_of(sim::PortId id) noexcept {
  return (std::uint64_t{id.host.index} << 16) | id.port;
}

}  // namespace

/// Only workers that have something to do are turned: those a datagram arrived for, those whose
/// deadline came, those that were poked. Everything else costs nothing, however many there are.
class Simulation::Impl {
 public:
  Impl(std::uint64_t seed, base::PayloadMode mode)
      : network_(seed, mode),
        mode_(mode),
        clock_(std::make_shared<runtime::VirtualClock>(network_.now())),
        seeds_(seed) {}
  ~Impl() {
    for (const auto& node : nodes_) {
      if (node->endpoint != nullptr) node->endpoint->close();
      node->simulation = nullptr;
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<Endpoint> open(sim::HostId host, EndpointConfig config);
  void set_suspended(const Endpoint& endpoint, bool suspended);
  bool step(Timestamp limit);
  void run_ready();
  /// To the next moment something happens at; false at `limit`.
  bool move_on(Timestamp limit);
  sim::Network& network() noexcept { return network_; }

 private:
  /// One endpoint's place in the simulation.
  struct Node final : Driver {
    void poke() override {
      if (simulation != nullptr) simulation->make_ready(*this);
    }
    bool make_room() override {
      if (simulation == nullptr || suspended || turning) return false;
      simulation->turn(*this);
      return true;
    }
    bool drive(Timestamp limit) override {
      return simulation != nullptr && !suspended_for_ever(limit) && simulation->step(limit);
    }
    void leave() override {
      if (simulation != nullptr) simulation->remove(*this);
    }
    bool suspended_for_ever(Timestamp limit) const { return suspended && limit == kNever; }

    Impl* simulation = nullptr;
    EndpointImpl* endpoint = nullptr;  // until it leaves
    std::uint32_t index = 0;           // in nodes_
    sim::PortId port;
    bool ready = false;  // in ready_
    bool suspended = false;
    bool turning = false;
  };

  void make_ready(Node& node) {
    if (node.ready) return;
    node.ready = true;
    ready_.push_back(&node);
  }
  void remove(Node& node) {
    node.endpoint = nullptr;
    due_.set(node.index, kNever);
    by_port_.erase(key_of(node.port));
  }
  void turn(Node& node);
  void advance_to(Timestamp time);

  sim::Network network_;
  base::PayloadMode mode_;
  std::shared_ptr<runtime::VirtualClock> clock_;
  base::Random seeds_;
  std::vector<std::shared_ptr<Node>> nodes_;  // never shrinks: indices stay
  std::unordered_map<std::uint64_t, Node*> by_port_;
  sim::DueHeap due_;            // nodes by their worker's deadline
  std::vector<Node*> ready_;    // to be turned at this moment
  std::vector<Node*> turning_;  // those of them being turned
  std::vector<sim::PortId> arrivals_;
};

Result<Endpoint> Simulation::Impl::open(sim::HostId host, EndpointConfig config) {
  const Wiper psk_wiper(config.psk);
  const Wiper reset_key_wiper(config.stateless_reset_key);
  auto backend = network_.open_backend(host, config.local.port);
  if (!backend) return tl::unexpected(backend.error());
  config.local = (*backend)->local_address();
  config.threads = ThreadMode::caller_polls;
  config.worker_cpu.reset();
  const auto checked = check_config(config);
  if (!checked) return tl::unexpected(checked.error());
  auto keys = load_credentials(config, checked->security);
  if (!keys) return tl::unexpected(keys.error());
  wipe(config.psk);

  const std::uint64_t drawn = seeds_.next();
  Foundation foundation;
  const std::uint64_t seed = config.seed.value_or(drawn);
  foundation.entropy = crypto::simulated_entropy(seed);
  foundation.backend = with_faults(std::move(*backend), config, seed, mode_);
  foundation.clock = clock_;
  foundation.payload_mode = mode_;
  foundation.keys = std::move(*keys);
  const auto node = std::make_shared<Node>();
  foundation.driver = node;
  const std::uint16_t port = config.local.port;
  auto endpoint = EndpointImpl::start(std::move(config), *checked, std::move(foundation));
  if (!endpoint) return tl::unexpected(endpoint.error());

  node->simulation = this;
  node->endpoint = endpoint->get();
  node->index = static_cast<std::uint32_t>(nodes_.size());
  node->port = {host, port};
  nodes_.push_back(node);
  by_port_[key_of(node->port)] = node.get();
  make_ready(*node);
  return Endpoint(std::move(*endpoint));
}

void Simulation::Impl::set_suspended(const Endpoint& endpoint, bool suspended) {
  const SocketAddress address = endpoint.local_address();
  for (const auto& node : nodes_) {
    if (node->endpoint == nullptr || node->endpoint->local_address() != address) continue;
    node->suspended = suspended;
    if (suspended) {
      due_.set(node->index, kNever);
    } else {
      make_ready(*node);
    }
  }
}

void Simulation::Impl::run_ready() {
  // A turn may make others ready (or the same node again); they get theirs at this moment too.
  while (!ready_.empty()) {
    turning_.swap(ready_);
    for (Node* node : turning_) {
      node->ready = false;
      if (node->endpoint != nullptr && !node->suspended) turn(*node);
    }
    turning_.clear();
  }
}

void Simulation::Impl::turn(Node& node) {
  const Timestamp now = network_.now();
  EndpointImpl& endpoint = *node.endpoint;
  Timestamp due = now;
  node.turning = true;
  for (int turns = 0; turns < kTurnsAtOnce && (due <= now || endpoint.input_left()); ++turns) {
    endpoint.turn(now);
    due = endpoint.next_due();
  }
  node.turning = false;
  const bool busy = due <= now || endpoint.input_left();
  due_.set(node.index, busy ? now + kBreather : due);
}

bool Simulation::Impl::step(Timestamp limit) {
  run_ready();
  return move_on(limit);
}

bool Simulation::Impl::move_on(Timestamp limit) {
  const Timestamp next = std::min(due_.first(), network_.next_arrival());
  if (next > limit || next == kNever) {
    if (limit != kNever) advance_to(limit);
    return false;
  }
  advance_to(next);
  return true;
}

void Simulation::Impl::advance_to(Timestamp time) {
  network_.advance_to(time);
  clock_->set(network_.now());
  network_.take_arrivals(arrivals_);
  for (const sim::PortId port : arrivals_) {
    const auto found = by_port_.find(key_of(port));
    if (found != by_port_.end()) make_ready(*found->second);
  }
  arrivals_.clear();
  while (due_.first() <= time) {
    Node& node = *nodes_[due_.first_id()];
    due_.set(node.index, kNever);
    make_ready(node);
  }
}

Simulation::Simulation(std::uint64_t seed, base::PayloadMode mode)
    : impl_(std::make_unique<Impl>(seed, mode)) {}
Simulation::~Simulation() = default;

sim::Network& Simulation::network() noexcept {
  return impl_->network();
}

Timestamp Simulation::now() const noexcept {
  return impl_->network().now();
}

Result<Endpoint> Simulation::open(sim::HostId host, EndpointConfig config) {
  return impl_->open(host, std::move(config));
}

void Simulation::suspend(const Endpoint& endpoint) {
  impl_->set_suspended(endpoint, true);
}

void Simulation::resume(const Endpoint& endpoint) {
  impl_->set_suspended(endpoint, false);
}

bool Simulation::step(Timestamp limit) {
  return impl_->step(limit);
}

void Simulation::run_for(Duration duration) {
  const Timestamp limit = now() + duration;
  while (impl_->step(limit)) {
  }
  impl_->run_ready();
}

bool Simulation::run_until(const std::function<bool()>& done, Duration limit) {
  const Timestamp end = now() + limit;
  for (;;) {
    // Before time moves on, so that what happened at a moment is seen at that moment.
    impl_->run_ready();
    if (done()) return true;
    if (impl_->move_on(end)) continue;
    impl_->run_ready();
    return done();
  }
}

}  // namespace longhaul::api
