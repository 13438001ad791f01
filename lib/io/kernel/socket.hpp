// SPDX-License-Identifier: Apache-2.0
// The UDP socket as every engine needs it, whatever system calls move its datagrams.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "lib/base/datagram.hpp"
#include "lib/io/kernel/descriptor.hpp"
#include "longhaul/address.hpp"
#include "longhaul/result.hpp"

namespace longhaul::io::kernel {

struct SocketOptions {
  /// Where to bind; the wildcard and port 0 are allowed.
  SocketAddress local;
  /// Interface to stay on (SO_BINDTODEVICE); empty = any.
  std::string device = {};
  /// What to ask for. Beyond the system's maximum only a privileged process gets it all.
  std::size_t receive_buffer = 32U << 20U;
  std::size_t send_buffer = 8U << 20U;
  /// Let the system join datagrams of one flow into one message (UDP_GRO).
  bool coalescing = true;
};

/// A bound, non-blocking UDP socket that never fragments, never follows the kernel's idea of the
/// path MTU, and reports traffic class, joined datagrams and drops with every message.
class Socket {
 public:
  /// Fails with address_in_use, no_permission, wrong_family, invalid_argument (no interface has the
  /// address) or system; the context names cause and remedy.
  static Result<Socket> open(const SocketOptions& options);

  /// Another socket on the port of `beside`, made like that one and connected to `peer`: it gets
  /// the datagrams from there to the address the route would send from. `beside` is as before
  /// afterwards; nobody else can bind the port.
  static Result<Socket> open_connected(const Socket& beside, const SocketAddress& peer);

  int number() const noexcept { return descriptor_.number(); }
  /// The bound address with its real port; a wildcard host stays a wildcard.
  const SocketAddress& local() const noexcept { return local_; }
  /// Largest UDP payload the interface takes without fragmenting.
  std::size_t datagram_max() const noexcept { return datagram_max_; }
  /// Whether the system cuts a message into datagrams for us (UDP_SEGMENT, Linux 4.18).
  bool segmentation() const noexcept { return segmentation_; }
  /// Buffer sizes the system granted, in its own reckoning (payload and its book-keeping).
  std::size_t receive_buffer() const noexcept { return receive_buffer_; }
  std::size_t send_buffer() const noexcept { return send_buffer_; }

  /// Clears pending socket errors: what ICMP says about a peer is no reason to stop. Refusals are
  /// kept for `take_refusals` while they are watched for.
  void clear_errors() const noexcept;
  /// See `Backend`.
  void watch_refusals(bool on) noexcept;
  std::size_t take_refusals(std::span<base::Refusal> out) noexcept;
  bool watches_refusals() const noexcept { return refusals_.watched; }
  /// The system did not send to `peer`; kept like what `clear_errors` finds.
  void note_refusal(const base::Refusal& refusal) const noexcept;

 private:
  explicit Socket(Descriptor descriptor) noexcept : descriptor_(std::move(descriptor)) {}

  Result<void> configure(const SocketOptions& options);
  Result<void> bind_to(const SocketAddress& local);

  Descriptor descriptor_;
  SocketOptions options_;
  SocketAddress local_;
  std::size_t datagram_max_ = 0;
  std::size_t receive_buffer_ = 0;
  std::size_t send_buffer_ = 0;
  bool segmentation_ = false;

  /// Filled where errors are cleared, which is in the middle of reading, and by senders.
  struct Refusals {
    std::array<base::Refusal, 16> found{};
    std::size_t count = 0;
    bool watched = false;
  };
  mutable Refusals refusals_;
};

}  // namespace longhaul::io::kernel
