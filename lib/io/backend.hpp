// SPDX-License-Identifier: Apache-2.0
// Extension point: what a backend (kernel sockets, DPDK, simulator, fault decorator) must do.
// A backend moves datagrams and knows nothing of the protocol. One virtual call per burst.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "lib/base/datagram.hpp"
#include "longhaul/address.hpp"
#include "longhaul/result.hpp"
#include "longhaul/tensor.hpp"
#include "longhaul/time.hpp"

namespace longhaul::io {

struct Capabilities {
  std::string_view name;       ///< "kernel", "sim", "fault(kernel)" …
  std::size_t burst_max = 64;  ///< most datagrams worth passing to one call
  /// Equal datagrams to one peer travel in trains, whose cost hardly depends on how full they are:
  /// bytes and datagrams that fit one. 0 bytes: each datagram travels alone.
  std::size_t train_bytes = 0;
  std::size_t train_datagrams = 1;
  std::size_t datagram_max =
      65507;                     ///< largest UDP payload the interface takes without fragmenting
  bool departure_times = false;  ///< honours TxDatagram::departure itself
  bool ecn = false;              ///< writes and reports ECN per packet
  bool dscp = false;             ///< writes and reports DSCP per packet
  bool wakes = false;            ///< wait() really sleeps and `wake()` ends it
};

struct BackendStats {
  std::uint64_t datagrams_sent = 0;
  std::uint64_t datagrams_received = 0;
  std::uint64_t send_calls = 0;
  std::uint64_t receive_calls = 0;
  std::uint64_t blocked = 0;          ///< the system had no room for (part of) a burst
  std::uint64_t too_big = 0;          ///< datagrams above the local MTU, dropped
  std::uint64_t send_errors = 0;      ///< datagrams the system refused for another reason, dropped
  std::uint64_t receive_dropped = 0;  ///< lost in the receive queue before we read it
};

/// Used by one worker thread, except `wake()`.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual const Capabilities& capabilities() const = 0;
  virtual SocketAddress local_address() const = 0;

  /// Fills the front of `out`, returns how many. Never waits. The datagrams' memory is the
  /// backend's and valid until the next call of `receive` on it. Order within a burst is arrival.
  virtual std::size_t receive(Timestamp now, std::span<base::RxDatagram> out) = 0;

  /// Sends a prefix of `burst` in order and returns its length; the rest stays the caller's. Slot
  /// memory may be reused as soon as it returns, tensor memory released once `release_payload` says
  /// so. A datagram that can never be sent (too big for the interface) counts as sent and is
  /// dropped, counted in stats.
  virtual std::size_t transmit(Timestamp now, std::span<const base::TxDatagram> burst) = 0;

  /// True once nothing below refers to the payload of what `transmit` took. A backend that sends
  /// without a copy answers false until then, to be asked again, and copies meanwhile, so that the
  /// answer does come. One that always copies has nothing to let go.
  virtual bool release_payload() { return true; }

  /// Sleeps until a datagram may be waiting, `wake()` was called or `longest` passed. A backend
  /// that does not sleep returns at once.
  virtual void wait(Duration longest) = 0;
  /// Ends a `wait` from any thread.
  virtual void wake() = 0;

  /// Memory the application registered; a backend that has no use for it accepts it all the same.
  virtual Result<void> register_memory(Region region, std::span<std::byte> memory) = 0;
  virtual void unregister_memory(Region region) = 0;

  /// When this backend next wants a call of `receive` or `transmit` although no datagram arrived,
  /// because it holds datagrams that are to leave then (a decorator that delays); kNever if it
  /// holds none. The worker sleeps no longer than the earlier of this and the core's next timeout,
  /// and calls `receive` once it is reached.
  virtual Timestamp next_release() const { return kNever; }

  /// The worker's thread calls nothing but `stats` any more; whatever only that thread can give
  /// back is to be given back now. The backend is then destroyed, by any thread.
  virtual void finish() {}
  /// Whether to learn who cannot be reached: who answers that nobody listens (ICMP port
  /// unreachable), and to whom the system does not send. Only while somebody connects: such an
  /// answer can be forged, and costs the data path. A backend without sockets learns nothing.
  virtual void watch_refusals(bool /*on*/) {}
  /// Fills the front of `out` with what was learned since the last call, in order and with
  /// repetitions; returns how many.
  virtual std::size_t take_refusals(std::span<base::Refusal> /*out*/) { return 0; }

  /// The same for datagrams that were too big to leave; each size and peer once a call, and a flood
  /// of them in part.
  virtual std::size_t take_too_big(std::span<base::TooBig> /*out*/) { return 0; }

  virtual BackendStats stats() const = 0;
  /// What moves the datagrams where a backend has several ways, such as "mmsg"; it may change.
  /// Empty where there is one way.
  virtual std::string_view engine() const { return {}; }
};

}  // namespace longhaul::io
