// SPDX-License-Identifier: Apache-2.0
// Two kernel backends on the loopback interface, in real time.
#include <algorithm>
#include <chrono>
#include <utility>

#include "lib/io/fault/fault_backend.hpp"
#include "lib/io/kernel/kernel_backend.hpp"
#include "tests/conformance/backends/factories.hpp"

namespace longhaul::io {
namespace {

using namespace std::chrono_literals;

class KernelPair final : public Pair {
 public:
  KernelPair(std::unique_ptr<Backend> left, std::unique_ptr<Backend> right)
      : left_(std::move(left)), right_(std::move(right)) {}

  Backend& left() override { return *left_; }
  Backend& right() override { return *right_; }
  Timestamp now() const override {
    return Timestamp(std::chrono::steady_clock::now().time_since_epoch());
  }
  void pass(Duration longest) override {
    // It may be either of them that has something to wait for, so neither is waited for long.
    right_->wait(std::min<Duration>(longest, 200us));
  }

 private:
  std::unique_ptr<Backend> left_;
  std::unique_ptr<Backend> right_;
};

std::unique_ptr<Pair> make_pair(const kernel::KernelOptions& options,
                                const EndpointConfig::InjectedFaults* faults,
                                std::string& why_not) {
  auto left = kernel::KernelBackend::open(options);
  auto right = kernel::KernelBackend::open(options);
  if (!left || !right) {
    why_not = "needs a UDP socket on loopback: " + (left ? right.error() : left.error()).context;
    return nullptr;
  }
  if (faults != nullptr) {
    *left = std::make_unique<FaultBackend>(std::move(*left), *faults, 1);
    *right = std::make_unique<FaultBackend>(std::move(*right), *faults, 2);
  }
  return std::make_unique<KernelPair>(std::move(*left), std::move(*right));
}

SocketAddress loopback(AddressFamily family) {
  SocketAddress address;
  address.family = family;
  if (family == AddressFamily::ipv4) {
    address.bytes = {127, 0, 0, 1};
  } else {
    address.bytes[15] = 1;
  }
  return address;
}

}  // namespace

std::unique_ptr<Pair> make_kernel_pair(std::string& why_not) {
  return make_pair({.local = loopback(AddressFamily::ipv4)}, nullptr, why_not);
}

std::unique_ptr<Pair> make_kernel_ipv6_pair(std::string& why_not) {
  return make_pair({.local = loopback(AddressFamily::ipv6)}, nullptr, why_not);
}

std::unique_ptr<Pair> make_kernel_without_trains_pair(std::string& why_not) {
  return make_pair(
      {.local = loopback(AddressFamily::ipv4), .segmentation = false, .coalescing = false}, nullptr,
      why_not);
}

std::unique_ptr<Pair> make_fault_over_kernel_pair(std::string& why_not) {
  EndpointConfig::InjectedFaults faults;
  faults.delay = 200us;
  return make_pair({.local = loopback(AddressFamily::ipv4)}, &faults, why_not);
}

}  // namespace longhaul::io
