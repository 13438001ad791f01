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

kernel::EngineChoice choice_of(KernelEngine engine) {
  switch (engine) {
    case KernelEngine::io_uring:
      return kernel::EngineChoice::io_uring;
    case KernelEngine::io_uring_zero_copy:
      return kernel::EngineChoice::io_uring_zero_copy;
    default:
      return kernel::EngineChoice::mmsg;
  }
}

std::unique_ptr<Pair> make_pair(KernelEngine engine, KernelVariant variant, std::string& why_not) {
  kernel::KernelOptions options;
  options.local =
      loopback(variant == KernelVariant::ipv6 ? AddressFamily::ipv6 : AddressFamily::ipv4);
  options.segmentation = options.coalescing = variant != KernelVariant::without_trains;
  options.engine = choice_of(engine);
  auto left = kernel::KernelBackend::open(options);
  auto right = kernel::KernelBackend::open(options);
  if (!left || !right) {
    why_not = "needs UDP on loopback: " + (left ? right.error() : left.error()).context;
    return nullptr;
  }
  if (variant == KernelVariant::under_faults) {
    EndpointConfig::InjectedFaults faults;
    faults.delay = 200us;
    *left = std::make_unique<FaultBackend>(std::move(*left), faults, 1);
    *right = std::make_unique<FaultBackend>(std::move(*right), faults, 2);
  }
  return std::make_unique<KernelPair>(std::move(*left), std::move(*right));
}

}  // namespace

std::function<std::unique_ptr<Pair>(std::string& why_not)> make_kernel_pair(KernelEngine engine,
                                                                            KernelVariant variant) {
  return [=](std::string& why_not) { return make_pair(engine, variant, why_not); };
}

}  // namespace longhaul::io
