// SPDX-License-Identifier: Apache-2.0
// The backend that runs on any Linux without privileges: one UDP socket of the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "lib/io/backend.hpp"
#include "lib/io/kernel/engine.hpp"
#include "lib/io/kernel/engine_choice.hpp"
#include "lib/io/kernel/engine_probe.hpp"
#include "lib/io/kernel/socket.hpp"
#include "lib/io/kernel/uring_engine.hpp"
#include "lib/io/kernel/waker.hpp"
#include "longhaul/address.hpp"
#include "longhaul/log.hpp"
#include "longhaul/result.hpp"

namespace longhaul::io::kernel {

struct KernelOptions {
  /// Where to bind; the wildcard and port 0 are allowed.
  SocketAddress local;
  std::string device = {};  ///< interface to stay on, empty = any
  /// Socket buffers to ask for; beyond the system's maximum only a privileged process gets them.
  std::size_t receive_buffer = 32U << 20U;
  std::size_t send_buffer = 8U << 20U;
  /// Give the system trains of datagrams to cut (UDP_SEGMENT) where it can.
  bool segmentation = true;
  /// Take trains of datagrams from the system where it joins them (UDP_GRO).
  bool coalescing = true;
  /// Messages one call may read; each costs 64 KiB of memory, touched only when needed.
  std::size_t receive_messages = 32;
  EngineChoice engine = EngineChoice::automatic;
  /// All calls but `wake` come from one thread, and that is not the application's. `automatic`
  /// takes a ring only then.
  bool one_thread = true;
  /// Is told which engine it became and why, at open and later from the worker's thread.
  LogSink log{};
};

class KernelBackend final : public Backend {
 public:
  /// Fails with address_in_use, no_permission, wrong_family, invalid_argument, unsupported or
  /// system; the context names cause and remedy. An engine asked for by name and refused by the
  /// system is such a failure; `automatic` takes the other one and says so. Measuring which one is
  /// faster takes `automatic` some 3 ms.
  static Result<std::unique_ptr<Backend>> open(const KernelOptions& options);

  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  SocketAddress local_address() const noexcept override { return socket_.local(); }

  std::size_t receive(Timestamp now, std::span<base::RxDatagram> out) noexcept override;
  std::size_t transmit(Timestamp now, std::span<const base::TxDatagram> burst) noexcept override;
  bool release_payload() noexcept override { return engine_->release_payload(); }
  void wait(Duration longest) noexcept override;
  void finish() noexcept override { engine_->finish(); }
  void wake() noexcept override { waker_.wake(); }

  Result<void> register_memory(Region region, std::span<std::byte> memory) override;
  void unregister_memory(Region region) override;

  void watch_refusals(bool on) noexcept override { socket_.watch_refusals(on); }
  std::size_t take_refusals(std::span<base::Refusal> out) noexcept override {
    return socket_.take_refusals(out);
  }
  std::size_t take_too_big(std::span<base::TooBig> out) noexcept override {
    return engine_->take_too_big(out);
  }

  BackendStats stats() const noexcept override { return engine_->stats(); }
  std::string_view engine() const noexcept override { return engine_->name(); }

 private:
  KernelBackend(Socket socket, Waker waker, const KernelOptions& options);

  Result<void> choose_engine(const KernelOptions& options);
  Result<std::unique_ptr<UringEngine>> open_ring(const KernelOptions& options) const;
  bool is_ring_worth_it(const Result<std::unique_ptr<UringEngine>>& ring,
                        const std::optional<EngineCosts>& costs) const;
  void replace_engine() noexcept;
  void log(LogLevel level, std::string_view line) const noexcept;

  Socket socket_;
  Waker waker_;
  Capabilities capabilities_;
  LogSink log_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Engine> spare_;  // takes over from a ring the system refuses later
};

}  // namespace longhaul::io::kernel
