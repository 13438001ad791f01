// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/datagram.hpp"

namespace longhaul::crypto {

/// One packet to seal. Layout of `head`: header, integrity (room of overhead() bytes), then, for
/// control packets, frames. Tensor bytes follow from `payload`.
struct SealJob {
  base::TxDatagram* datagram = nullptr;
  std::size_t header_bytes = 0;
  std::uint16_t space = 0;
  std::uint64_t packet_number = 0;
};

/// One packet to open, in place. `ok` is the answer.
struct OpenJob {
  base::RxDatagram* datagram = nullptr;
  std::size_t header_bytes = 0;
  std::uint16_t space = 0;
  std::uint64_t packet_number = 0;
  bool ok = false;
};

/// Integrity (and, once authentication lands, secrecy) of short packets; one instance a connection.
/// Calls take bursts.
class PacketProtection {
 public:
  virtual ~PacketProtection() = default;
  /// Bytes between header and payload.
  virtual std::size_t overhead() const = 0;
  virtual void seal(std::span<const SealJob> burst) = 0;
  virtual void open(std::span<OpenJob> burst) = 0;
};

}  // namespace longhaul::crypto
