// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "lib/base/datagram.hpp"
#include "longhaul/time.hpp"

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

/// Integrity, and with a key secrecy, of short packets; one instance a connection. Calls take
/// bursts.
class PacketProtection {
 public:
  virtual ~PacketProtection() = default;
  /// Bytes between header and payload.
  virtual std::size_t overhead() const = 0;
  /// Afterwards a datagram may be all head: encrypting is the copy of the payload into the packet,
  /// for which the head has the room.
  virtual void seal(std::span<const SealJob> burst) = 0;
  virtual void open(std::span<OpenJob> burst) = 0;

  // Keys that are renewed; a protection without keys leaves these alone.
  /// Key phase (2 bits) of packets that are sealed next; belongs in their header.
  virtual std::uint8_t key_phase() const { return 0; }
  /// A packet sealed in that phase was acknowledged. Renews the key for sending if it is time to.
  virtual void on_acked(Timestamp /*now*/, std::uint8_t /*key_phase*/, Duration /*rtt*/) {}
  /// Too many packets failed to open or a key ran out: the connection must end (RFC 9001 §6.6).
  virtual bool exhausted() const { return false; }

  /// Of the AEAD, as statistics show it; empty without one.
  virtual std::string_view name() const { return {}; }
  /// Keys renewed so far, of both directions.
  virtual std::uint64_t key_updates() const { return 0; }
};

}  // namespace longhaul::crypto
