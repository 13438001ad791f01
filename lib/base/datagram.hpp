// SPDX-License-Identifier: Apache-2.0
// What crosses the seam between the core and a backend: plain data, borrowed for one burst.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "longhaul/address.hpp"
#include "longhaul/time.hpp"

namespace longhaul::base {

/// The two ECN bits of the IP header (RFC 3168), in their wire values.
enum class Ecn : std::uint8_t { not_ect = 0, ect1 = 1, ect0 = 2, ce = 3 };

/// A received datagram. Memory is borrowed until the call that hands it over returns.
struct RxDatagram {
  /// UDP payload. Mutable, so that it may be opened in place. In payload mode `reference` only the
  /// packet's head; the tensor bytes are then in `reference`.
  std::span<std::byte> data;
  /// Payload mode `reference` only: the sender's own tensor memory, never to be read, only counted.
  std::span<const std::byte> reference;
  SocketAddress remote;
  Timestamp received_at{};
  Ecn ecn = Ecn::not_ect;
  std::uint8_t dscp = 0;
  /// Payload mode `reference` only: the network damaged the bytes nobody carries; fail integrity.
  bool damaged = false;

  std::size_t size() const noexcept { return data.size() + reference.size(); }
};

/// A datagram to send. The owner of the slot provides `head`; the core fills the rest.
struct TxDatagram {
  /// Room for headers and for whole control packets; as large as the largest datagram.
  std::span<std::byte> head;
  std::size_t head_size = 0;           ///< bytes of `head` in use
  std::span<const std::byte> payload;  ///< tensor memory that follows the head; empty for control
  SocketAddress remote;
  /// Not to leave earlier; a backend without hardware send times sends at once.
  Timestamp departure{};
  Ecn ecn = Ecn::not_ect;
  std::uint8_t dscp = 0;
  /// Payload mode `reference` only, and never set by the core: a decorator damaged bytes that
  /// nobody carries; the receiver sees it as RxDatagram::damaged.
  bool damaged = false;

  std::size_t size() const noexcept { return head_size + payload.size(); }
};

/// Why datagrams reach nobody.
enum class Hindrance : std::uint8_t {
  port_closed,  ///< an ICMP message says so, which may be forged
  no_route,     ///< this machine said so when it was to send
  forbidden,    ///< the same: a rule of its own
};

struct Refusal {
  SocketAddress peer;
  Hindrance cause = Hindrance::port_closed;
};

/// A datagram that did not leave, because this machine's interface towards the peer takes none of
/// its size.
struct TooBig {
  SocketAddress peer;
  std::uint32_t size = 0;  ///< UDP payload, bytes
};

/// Whether tensor bytes really travel. `reference` is for large simulated grids: packets carry
/// {tensor, offset, length}, and copy, CRC and digest are skipped, with the same trace.
enum class PayloadMode : std::uint8_t { bytes, reference };

}  // namespace longhaul::base
