// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/endpoint/endpoint.hpp"
#include "lib/io/backend.hpp"
#include "lib/runtime/burst_limit.hpp"
#include "lib/runtime/clock.hpp"
#include "lib/runtime/event_sink.hpp"
#include "lib/runtime/mailbox.hpp"

namespace longhaul::runtime {

struct WorkerOptions {
  std::size_t datagram_max = 1200;      ///< largest UDP payload ever sent, bytes
  std::size_t mailbox_capacity = 1024;  ///< a power of two
  base::PayloadMode payload_mode = base::PayloadMode::bytes;
  /// Sealing copies the payload into the packet, so a burst takes twice the cache.
  bool sealing_copies = false;
  /// How long to poll on after the last work before the backend is asked to sleep. Also how close
  /// a deadline must be to be polled for, because sleeping is not more precise than this.
  Duration spin = std::chrono::microseconds(50);
  /// Where round trips are long, packets of a busy connection wait for company: what a system call
  /// and a visit cost is then shared, and others have the core meanwhile. At most this long; zero
  /// never, for a core that has nothing else to do.
  Duration nap_max = std::chrono::microseconds(100);
};

/// One core's loop around one backend and one protocol core, run to completion. Whoever calls
/// `run_once` is the worker's thread; the mailbox is the only part other threads may touch.
class Worker {
 public:
  Worker(std::unique_ptr<io::Backend> backend, std::unique_ptr<endpoint::Endpoint> core,
         EventSink& sink, const WorkerOptions& options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// One turn. Returns whether there was work; if not, nothing happens before `next_due()` unless a
  /// datagram or a post arrives.
  bool run_once(Timestamp now);
  /// After a turn: input was left for another one at the same moment.
  bool input_left() const noexcept { return input_left_; }
  /// When a turn is due although nothing arrives; kNever if only input can help.
  Timestamp next_due() const;
  /// Sleeps until `next_due()`, input, a post, or for `longest`; does not sleep at all if the time
  /// is too short to be slept, but for a nap where the round trips allow one.
  void sleep(Timestamp now, Duration longest);
  /// Turns and sleeps until `stop` is set (followed by a `nudge`).
  void run(const Clock& clock, const std::atomic<bool>& stop);
  /// Takes every request that was posted, ends every connection and drains what that leaves to
  /// send, for `longest` at most. Nothing may be posted any more.
  void wind_up(const Clock& clock, std::string_view reason, Duration longest);

  /// Hands the owners of what was posted to the sink and asks the core nothing: for a worker whose
  /// core can no longer be trusted. Nothing may be posted any more.
  void abandon_requests();

  /// Bytes of the tables it was made with, the core's not included.
  std::uint64_t memory() const noexcept;
  /// Any thread. False if the mailbox is full.
  bool post(Request&& request) noexcept;
  /// Any thread: makes the worker look again.
  void nudge() noexcept;

  /// Worker's thread only.
  void answer(Query& query, Timestamp now);
  io::Backend& backend() noexcept { return *backend_; }
  const endpoint::Endpoint& core() const noexcept { return *core_; }

 private:
  bool receive(Timestamp now);
  void take_refusals(Timestamp now);
  bool take_too_big(Timestamp now);
  bool expire(Timestamp now);
  bool take_requests(Timestamp now, std::size_t most);
  void handle(Timestamp now, Request& request);
  bool transmit(Timestamp now);
  bool publish(Timestamp now);
  bool detach_slots_from_tensors();
  Duration patience(Timestamp now);
  void rest(Duration time, Duration patience) noexcept;
  void drain(const Clock& clock, Timestamp end);
  bool slots_pending() const noexcept { return next_slot_ != filled_slots_; }

  std::unique_ptr<io::Backend> backend_;
  std::unique_ptr<endpoint::Endpoint> core_;
  EventSink& sink_;
  const WorkerOptions options_;
  Mailbox mailbox_;

  BurstLimit arrivals_limit_;
  BurstLimit slots_limit_;
  std::vector<base::RxDatagram> arrivals_;
  std::vector<std::byte> heads_;  // memory behind the slots' heads
  std::vector<base::TxDatagram> slots_;
  // Slots [next_slot_, filled_slots_) were polled from the core and not yet taken by the backend.
  std::size_t next_slot_ = 0;
  std::size_t filled_slots_ = 0;
  bool input_left_ = false;
  bool watching_refusals_ = false;
  Timestamp retry_at_ = kNever;          // of a backend that is blocked or holds payload
  std::optional<endpoint::Event> held_;  // the sink had no room for it
  std::uint64_t transmit_blocked_ = 0;
};

}  // namespace longhaul::runtime
