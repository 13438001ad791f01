// SPDX-License-Identifier: Apache-2.0
// Moves datagrams with sendmmsg and recvmmsg.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "lib/base/datagram.hpp"
#include "lib/io/backend.hpp"
#include "lib/io/kernel/rx_batch.hpp"
#include "lib/io/kernel/socket.hpp"
#include "lib/io/kernel/tx_batch.hpp"

namespace longhaul::io::kernel {

/// The data path of the kernel backend. Allocates when constructed and never again.
class MmsgEngine {
 public:
  /// `socket` must outlive the engine. `segmentation` is the caller's wish; without the kernel's
  /// help it means nothing. `receive_messages` is how many messages one call may read.
  MmsgEngine(const Socket& socket, bool segmentation, std::size_t receive_messages);

  /// As Backend::transmit.
  std::size_t transmit(std::span<const base::TxDatagram> burst) noexcept;
  /// As Backend::receive.
  std::size_t receive(Timestamp now, std::span<base::RxDatagram> out) noexcept;

  /// `receive` will hand out datagrams without asking the system.
  bool pending() const noexcept { return received_.pending(); }
  /// Whether several datagrams go to the system as one message; ends when the system cannot.
  bool segmentation() const noexcept { return segmentation_; }
  const BackendStats& stats() const noexcept { return stats_; }

 private:
  /// How far a batch got.
  struct Progress {
    std::size_t datagrams = 0;  ///< sent or dropped for good
    bool blocked = false;       ///< the system has no room for the next one
  };

  Progress send(TxBatch& batch, std::span<const base::TxDatagram> datagrams) noexcept;
  Progress settle(int cause, std::span<const base::TxDatagram> message) noexcept;
  Progress send_singly(int cause, std::span<const base::TxDatagram> message) noexcept;
  bool read(Timestamp now, std::size_t datagrams) noexcept;

  const Socket& socket_;
  bool segmentation_;
  std::unique_ptr<TxBatch> grouped_;
  std::unique_ptr<TxBatch> single_;
  RxBatch received_;
  BackendStats stats_;
};

}  // namespace longhaul::io::kernel
