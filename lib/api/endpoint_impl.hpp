// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>

#include "lib/api/completion_queue.hpp"
#include "lib/api/config_check.hpp"
#include "lib/api/credential_files.hpp"
#include "lib/api/event_router.hpp"
#include "lib/api/logger.hpp"
#include "lib/api/region_table.hpp"
#include "lib/crypto/secrets.hpp"
#include "lib/io/backend.hpp"
#include "lib/runtime/clock.hpp"
#include "lib/runtime/fork_guard.hpp"
#include "lib/runtime/worker.hpp"
#include "lib/runtime/worker_thread.hpp"
#include "longhaul/endpoint.hpp"

namespace longhaul::api {

/// Who turns the worker of an endpoint that is part of something larger (the simulation). All of it
/// happens on one thread.
class Driver {
 public:
  virtual ~Driver() = default;
  /// The endpoint's worker has something new to look at.
  virtual void poke() = 0;
  /// Turns the worker at this very moment, so that its mailbox has room again. False if it must not
  /// run.
  virtual bool make_room() = 0;
  /// Lets the world go on by one step, at most to `limit`. False if nothing is left to happen.
  virtual bool drive(Timestamp limit) = 0;
  /// The endpoint is closing; its worker must not be turned any more.
  virtual void leave() = 0;
};

/// What an endpoint stands on.
struct Foundation {
  std::unique_ptr<io::Backend> backend;
  std::shared_ptr<const runtime::Clock> clock;
  crypto::Secret entropy;  ///< see endpoint::Environment
  LoadedCredentials keys;
  base::PayloadMode payload_mode = base::PayloadMode::bytes;
  std::shared_ptr<Driver> driver;  ///< none: a worker thread, or the caller
};

/// Everything behind an Endpoint. Handles of connections and transfers share it.
///
/// Three kinds of members: constant after `start`; atomic; or used only by whoever turns the worker
/// (the worker thread, or the holder of `turning_`).
class EndpointImpl final : public std::enable_shared_from_this<EndpointImpl> {
 public:
  /// A real endpoint.
  static Result<std::shared_ptr<EndpointImpl>> open(EndpointConfig config);
  /// An endpoint on a given foundation; `config` has been checked and its keys loaded and wiped.
  static Result<std::shared_ptr<EndpointImpl>> start(EndpointConfig config,
                                                     const CheckedConfig& checked,
                                                     Foundation foundation);
  EndpointImpl(EndpointConfig config, const CheckedConfig& checked, Foundation&& foundation);
  ~EndpointImpl();
  EndpointImpl(const EndpointImpl&) = delete;
  EndpointImpl& operator=(const EndpointImpl&) = delete;

  // The calls of Endpoint.
  SocketAddress local_address() const { return local_; }
  Result<void> listen();
  Result<std::shared_ptr<ConnectionState>> accept(std::optional<Duration> timeout);
  Result<std::shared_ptr<ConnectionState>> connect(const SocketAddress& remote,
                                                   const ConnectOptions& options, bool announce);
  Result<Region> register_memory(void* data, std::uint64_t bytes, MemoryKind kind);
  Result<void> unregister_memory(Region region);
  std::size_t poll(std::span<Completion> out);
  int completion_fd() noexcept;
  bool run_once();
  Result<EndpointStats> stats(Duration timeout);
  Result<void> dump(const std::function<void(std::string_view)>& sink, Duration timeout);
  void close();

  // For connections and transfers.
  Result<std::shared_ptr<TransferState>> send(const ConnectionState& connection, Tag tag,
                                              std::span<const ConstTensorView> views,
                                              const SendOptions& options);
  Result<std::shared_ptr<TransferState>> receive(const ConnectionState& connection, Tag tag,
                                                 std::span<const TensorView> views,
                                                 const ReceiveOptions& options);
  Result<ConnectionStats> connection_stats(std::uint64_t connection, Duration timeout);
  /// Enqueues; `would_block` if the mailbox is full, `closed` if the endpoint is.
  Result<void> post(runtime::Request&& request);
  /// Waits on `word` until `done()` holds or `timeout` passed; returns whether it holds. Turns the
  /// worker meanwhile if nobody else does.
  bool wait(runtime::WaitWord& word, const std::function<bool()>& done,
            std::optional<Duration> timeout);
  /// True in a forked child, where every handle answers `closed`.
  bool foreign() const noexcept { return guard_.in_child(); }
  Error closed_error() const;
  Timestamp now() const { return clock_->now(); }

  /// For the simulation: turns the worker at `now`; see runtime::Worker.
  void turn(Timestamp now) { worker_->run_once(now); }
  bool input_left() const noexcept { return worker_->input_left(); }
  Timestamp next_due() const { return worker_->next_due(); }
  io::Backend& backend() noexcept { return worker_->backend(); }

 private:
  /// Holds off `close()` for the length of a call.
  class Entry;

  Result<void> launch();
  void log_opening(const CheckedConfig& checked, std::string_view keys) const;
  void run_worker();
  void end_worker();
  void fail_worker(std::string_view why, std::uint32_t inside);
  bool turn_if_free(Duration longest_sleep);
  Result<void> ask(const std::shared_ptr<runtime::Query>& query, std::optional<Duration> timeout);
  void nudge();
  std::shared_ptr<TransferState> new_transfer(const ConnectionState& connection, Tag tag,
                                              std::uint64_t bytes, std::uint64_t cookie);
  Result<std::shared_ptr<TransferState>> post_transfer(std::shared_ptr<TransferState> state,
                                                       runtime::Request&& request);

  runtime::ForkGuard guard_;
  EndpointConfig config_;  // constant after `start`
  const Logger logger_;
  const std::shared_ptr<const runtime::Clock> clock_;
  const std::shared_ptr<Driver> driver_;
  SocketAddress local_;
  std::uint64_t own_memory_ = 0;     // of mailbox, slots and queues
  std::uint64_t memory_budget_ = 0;  // with the core's

  CompletionQueue completions_;
  AcceptQueue accepts_;
  RegionTable regions_;
  std::atomic<std::uint64_t> next_id_{1};
  std::atomic<bool> listening_{false};

  std::unique_ptr<EventRouter> router_;
  std::unique_ptr<runtime::Worker> worker_;
  runtime::WorkerThread thread_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> turning_{false};

  std::atomic<std::uint32_t> inside_{0};  // calls that use the worker right now
  std::atomic<bool> closing_{false};      // no further call may
  std::atomic<bool> closed_{false};
  std::mutex close_mutex_;
};

}  // namespace longhaul::api
