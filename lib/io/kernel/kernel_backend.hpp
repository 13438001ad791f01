// SPDX-License-Identifier: Apache-2.0
// The backend that runs on any Linux without privileges: one UDP socket of the kernel.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "lib/io/backend.hpp"
#include "lib/io/kernel/mmsg_engine.hpp"
#include "lib/io/kernel/socket.hpp"
#include "lib/io/kernel/waker.hpp"
#include "longhaul/address.hpp"
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
};

class KernelBackend final : public Backend {
 public:
  /// Fails with address_in_use, no_permission, wrong_family, invalid_argument, unsupported or
  /// system; the context names cause and remedy.
  static Result<std::unique_ptr<Backend>> open(const KernelOptions& options);

  /// For `open`: takes over what it opened.
  KernelBackend(Socket socket, Waker waker, const KernelOptions& options);

  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  SocketAddress local_address() const noexcept override { return socket_.local(); }

  std::size_t receive(Timestamp now, std::span<base::RxDatagram> out) noexcept override;
  std::size_t transmit(Timestamp now, std::span<const base::TxDatagram> burst) noexcept override;
  void wait(Duration longest) noexcept override;
  void wake() noexcept override { waker_.wake(); }

  Result<void> register_memory(Region region, std::span<std::byte> memory) override;
  void unregister_memory(Region region) override;

  void watch_refusals(bool on) noexcept override { socket_.watch_refusals(on); }
  std::size_t take_refusals(std::span<SocketAddress> out) noexcept override {
    return socket_.take_refusals(out);
  }

  BackendStats stats() const noexcept override { return engine_.stats(); }

 private:
  Socket socket_;
  Waker waker_;
  MmsgEngine engine_;
  Capabilities capabilities_;
};

}  // namespace longhaul::io::kernel
