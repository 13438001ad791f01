// SPDX-License-Identifier: Apache-2.0
// Faults on what any backend sends, on real or virtual time; what `--inject-*` uses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/fifo.hpp"
#include "lib/base/random.hpp"
#include "lib/io/backend.hpp"
#include "lib/io/buffer_pool.hpp"
#include "longhaul/config.hpp"

namespace longhaul::io {

struct FaultStats {
  std::uint64_t lost = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;  ///< held back by `reorder_delay`
  std::uint64_t held = 0;       ///< held back for any reason, copies counted each
  std::uint64_t not_held = 0;   ///< were to be held, but the budget was used up: sent at once
};

/// Decorates a backend. What passes unharmed goes on in the bursts it came in. What is held back is
/// copied and leaves in a later call of `receive` or `transmit`; `next_release` says when one is
/// due. Datagrams still held when the backend goes are lost.
class FaultBackend final : public Backend {
 public:
  static constexpr std::size_t kHeldBytesMax = std::size_t{64} << 20;

  /// Equal seeds and calls give equal faults, in both payload modes. `held_bytes_max` counts UDP
  /// payload.
  FaultBackend(std::unique_ptr<Backend> inner, const EndpointConfig::InjectedFaults& faults,
               std::uint64_t seed, base::PayloadMode mode = base::PayloadMode::bytes,
               std::size_t held_bytes_max = kHeldBytesMax);
  ~FaultBackend() override = default;
  FaultBackend(const FaultBackend&) = delete;
  FaultBackend& operator=(const FaultBackend&) = delete;

  const Capabilities& capabilities() const override { return capabilities_; }
  SocketAddress local_address() const override { return inner_->local_address(); }
  std::size_t receive(Timestamp now, std::span<base::RxDatagram> out) override;
  std::size_t transmit(Timestamp now, std::span<const base::TxDatagram> burst) override;
  bool release_payload() override { return inner_->release_payload(); }
  void finish() override { inner_->finish(); }
  void wait(Duration longest) override { inner_->wait(longest); }
  void wake() override { inner_->wake(); }
  Result<void> register_memory(Region region, std::span<std::byte> memory) override {
    return inner_->register_memory(region, memory);
  }
  void unregister_memory(Region region) override { inner_->unregister_memory(region); }
  Timestamp next_release() const override;
  void watch_refusals(bool on) override { inner_->watch_refusals(on); }
  std::size_t take_refusals(std::span<base::Refusal> out) override {
    return inner_->take_refusals(out);
  }
  std::size_t take_too_big(std::span<base::TooBig> out) override {
    return inner_->take_too_big(out);
  }
  /// The inner backend's: lost datagrams are not in it, duplicates are.
  BackendStats stats() const override { return inner_->stats(); }
  std::string_view engine() const override { return inner_->engine(); }
  FaultStats fault_stats() const noexcept { return stats_; }

 private:
  /// What is to happen to one datagram.
  struct Plan {
    bool lost = false;
    std::uint64_t corruption = 0;  // see netmodel::damage; 0 = none
    std::uint8_t copies = 1;
    std::array<bool, 2> reordered{};
    bool passes() const noexcept {
      return !lost && corruption == 0 && copies == 1 && !reordered[0];
    }
  };
  /// A copy with its own memory.
  struct Held {
    BufferPool::Buffer buffer;
    base::TxDatagram datagram;  // its head is in the buffer
  };
  struct Key {
    Timestamp release;
    std::uint64_t serial;  // equal times keep their order
    Held* held;
  };
  static bool later(const Key& a, const Key& b) noexcept {
    return a.release > b.release || (a.release == b.release && a.serial > b.serial);
  }

  Plan draw(const base::TxDatagram& datagram);
  bool carry_out(const Plan& plan, const base::TxDatagram& datagram, Timestamp now);
  bool send_or_hold(const base::TxDatagram& datagram, Duration held_back, Timestamp now);
  void hold(const base::TxDatagram& datagram, Timestamp release);
  void release_due(Timestamp now);
  std::size_t copy_out(const base::TxDatagram& datagram, std::byte* to) const;

  std::unique_ptr<Backend> inner_;
  EndpointConfig::InjectedFaults faults_;
  base::PayloadMode mode_;
  std::size_t held_bytes_max_;
  base::Random random_;
  std::string name_;
  Capabilities capabilities_;
  FaultStats stats_{};

  BufferPool buffers_;
  std::vector<std::byte> scratch_;  // the damaged form of a datagram that is not held
  std::size_t held_bytes_ = 0;
  std::uint64_t serial_ = 0;
  std::vector<std::unique_ptr<Held>> slots_;
  std::vector<Held*> free_;
  std::vector<Key> held_;      // heap by release
  base::Fifo<Held*> overdue_;  // in order of release; the inner backend had no room
  Timestamp retry_at_{};       // of `overdue_`
};

}  // namespace longhaul::io
