// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "longhaul/address.hpp"
#include "longhaul/log.hpp"
#include "longhaul/status.hpp"
#include "longhaul/time.hpp"

namespace longhaul {

/// DSCP (RFC 2474) written on every packet of a class, data, repair, ACK and heartbeat alike.
/// Defaults: RFC 4594 CS6 for control, AF41 for critical, AF11 for bulk, RFC 8622 LE for scavenger.
struct DscpMap {
  std::array<std::uint8_t, kTrafficClasses> codepoints{48, 34, 10, 1};
};

enum class ThreadMode : std::uint8_t {
  worker_threads = 0,  ///< `Endpoint` starts and owns its worker threads
  caller_polls = 1,    ///< the caller drives the worker with `Endpoint::run_once()`
};

/// Everything decided at open. Each field: meaning, unit, default.
struct EndpointConfig {
  /// Backend by name: "kernel" today.
  std::string backend = "kernel";
  /// What moves the datagrams of the backend "kernel": "mmsg" (sendmmsg and recvmmsg), "io_uring",
  /// "io_uring_zero_copy" (large sends are not copied, for as long as that is measured to pay), or
  /// "auto": the faster one of those the system allows. Only what is named is insisted on: open
  /// then fails where the system refuses it. A ring belongs to one thread of the library's, so with
  /// `caller_polls` there is only "mmsg".
  std::string engine = "auto";
  /// Address to bind. Port 0 lets the system choose; see `Endpoint::local_address()`.
  SocketAddress local{};
  /// Interface all packets take, whatever the routes say (SO_BINDTODEVICE); empty = by the routes.
  std::string device;
  ThreadMode threads = ThreadMode::worker_threads;
  /// Core the worker is pinned to; none = wherever the scheduler puts it.
  std::optional<unsigned> worker_cpu;

  /// Congestion controller by name ("fixed", "cubic"); empty = "fixed" when `rate_bps` is set,
  /// else "cubic".
  std::string controller;
  /// Operator's rate in bits per second of UDP payload, everything included; 0 = none.
  std::uint64_t rate_bps = 0;
  /// Largest round-trip time the tables are sized for, together with `rate_bps` (or 10 Gbit/s).
  Duration rtt_max = std::chrono::milliseconds(200);

  /// Largest IP packet to search for (RFC 8899), bytes.
  std::uint32_t mtu_max = 9000;
  /// IP packet size used before the search, bytes. Raise it only on a line known to carry it.
  std::uint32_t mtu_base = 1280;

  /// A peer not heard of for this long is lost; every request of its connections ends `peer_lost`.
  Duration peer_timeout = std::chrono::seconds(2);
  /// Keep-alive interval; 0 = a fifth of `peer_timeout`.
  Duration heartbeat{0};
  /// `connect()` without a deadline of its own gives up after this.
  Duration connect_timeout = std::chrono::seconds(10);

  /// Memory that holds small transfers nobody has posted a receive for, per connection, bytes.
  std::uint64_t eager_budget = 4u << 20;
  /// A transfer up to this size may go eagerly, bytes.
  std::uint64_t eager_max = 64u << 10;
  /// Transfers outstanding per connection and direction, posted or announced.
  std::uint32_t transfers_max = 32768;
  /// Connections of the endpoint, 1 to 2^24.
  std::uint32_t connections_max = 1024;
  /// Completions waiting for `poll()` before back-pressure; a power of two.
  std::uint32_t completions_max = 65536;

  /// How packets are protected: "psk" (both ends hold the same key), "certificates" (each shows
  /// one), or empty, the default: by whichever of the two is configured below. "none" leaves out
  /// encryption and authentication, has to be asked for by name, and is logged as a warning. Open
  /// refuses nothing configured, and settings that contradict each other.
  std::string security;

  /// The pre-shared key itself, in the text form of `generate_key()`, for who does not keep it in a
  /// file. The endpoint wipes its copy once it is open; the caller's is the caller's to wipe.
  std::string psk;
  /// File that holds the pre-shared key, instead of `psk`; `longhaul-perf --generate-key` makes
  /// one. Open refuses it where group or others can read it.
  std::string psk_file;

  /// PEM file: own certificate, then the chain up to, without, the authority.
  std::string certificate_file;
  /// PEM file of the private key to it, without a passphrase. Open refuses it where group or others
  /// can read it.
  std::string private_key_file;
  /// PEM file of the authorities a peer's certificate has to come from.
  std::string ca_file;
  /// Name a peer's certificate has to be made out to (RFC 6125); empty = any that `ca_file`
  /// vouches for.
  std::string peer_name;
  /// SHA-256 of the certificates peers may show, as 64 hex digits with or without colons. Where
  /// this list is not empty it decides alone, and `ca_file` need not be set.
  std::vector<std::string> peer_fingerprints;

  DscpMap dscp{};
  /// Server: ask every new client to prove its address before any state is kept.
  bool validate_addresses = true;
  /// Server: handshakes under way from one address (an IPv6 /64 counts as one) at a time; more have
  /// to wait. They are what a stranger can make this end compute.
  std::uint32_t handshakes_max_per_source = 64;
  /// Key of stateless resets, so that they survive a restart: 16 random bytes or more, which open()
  /// wipes. Empty = random per endpoint.
  std::string stateless_reset_key;
  /// Seed of the faults injected below; none = from the system. Keys, tokens, connection IDs and
  /// whatever else a stranger must not foresee come from the system all the same; only in a
  /// simulation does the seed make them too.
  std::optional<std::uint64_t> seed;

  /// Faults injected into every datagram this endpoint sends (for tests and `--inject-*`).
  struct InjectedFaults {
    double loss = 0;       ///< probability
    double corrupt = 0;    ///< probability
    double duplicate = 0;  ///< probability
    double reorder = 0;    ///< probability of being held back by `reorder_delay`
    Duration reorder_delay = std::chrono::milliseconds(2);
    Duration delay{0};  ///< added to every datagram
    bool any() const noexcept {
      return loss > 0 || corrupt > 0 || duplicate > 0 || reorder > 0 || delay.count() > 0;
    }
  } inject;

  LogSink log;  ///< none = silent
};

}  // namespace longhaul
