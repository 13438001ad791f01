// SPDX-License-Identifier: Apache-2.0
// A short cut through the kernel for the peer that most of the traffic comes from.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/io/kernel/rx_messages.hpp"
#include "lib/io/kernel/socket.hpp"
#include "longhaul/time.hpp"

namespace longhaul::io::kernel {

/// A second socket on the same port, connected to one peer, to receive from. The kernel finds a
/// connected socket and its route once (early demultiplexing) and not anew for every packet, which
/// is a fifth of what a packet costs where nothing joins them. It opens once most messages of a
/// while come from one address, and closes when that falls silent; what the system refuses is not
/// asked again. The other peers' datagrams, errors and everything sent stay with the first socket.
class PeerSocket {
 public:
  explicit PeerSocket(const Socket& beside) noexcept : beside_(beside) {}

  bool is_open() const noexcept { return socket_.has_value(); }
  /// Precondition: is_open().
  const Socket& socket() const noexcept { return *socket_; }

  /// What the first socket has just received. True if this one opened: then the first has to be
  /// read empty before this one is read, or datagrams change places.
  bool on_received(Timestamp now, const RxMessages& messages) noexcept;
  /// This one received something.
  void on_used(Timestamp now) noexcept;
  /// This one was read empty. Closes it if it has been for long.
  void on_empty(Timestamp now) noexcept;

 private:
  bool open(Timestamp now, const SocketAddress& peer) noexcept;

  const Socket& beside_;
  std::optional<Socket> socket_;
  SocketAddress candidate_;
  std::uint32_t seen_ = 0;
  std::uint32_t of_candidate_ = 0;
  Timestamp used_at_{};
  Timestamp not_before_ = Timestamp::min();
  bool was_used_ = false;
};

}  // namespace longhaul::io::kernel
