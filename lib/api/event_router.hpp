// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/api/completion_queue.hpp"
#include "lib/api/logger.hpp"
#include "lib/api/refusal_log.hpp"
#include "lib/api/state.hpp"
#include "lib/base/mpmc_ring.hpp"
#include "lib/runtime/event_sink.hpp"
#include "longhaul/time.hpp"

namespace longhaul::api {

class EndpointImpl;

/// Connections that wait to be accepted.
struct AcceptQueue {
  explicit AcceptQueue(std::size_t capacity) : ring(capacity) {}
  base::MpmcRing<std::shared_ptr<ConnectionState>> ring;
  runtime::WaitWord waiting;
};

/// Turns the core's events into states, completions and wake-ups. Worker's thread only; it owns the
/// tables of what is outstanding and keeps their states alive.
class EventRouter final : public runtime::EventSink {
 public:
  /// Of the routes' other ends all outlive the router.
  EventRouter(EndpointImpl& endpoint, CompletionQueue& completions, AcceptQueue& accepts,
              const Logger& logger, std::size_t buckets);
  ~EventRouter() override;

  void adopt(std::shared_ptr<runtime::Owner> owner) override;
  bool on_event(endpoint::Event& event) override;

  /// From now on every event is taken: the application is waiting in `close()`.
  void begin_closing() noexcept { closing_.store(true, std::memory_order_relaxed); }
  /// Ends whatever the core left without an end, so that nobody waits for ever.
  void finish(Status status, std::string_view reason);

 private:
  void apply(const endpoint::ConnectionEvent& event);
  void apply(endpoint::TransferEvent& event);
  void apply(const endpoint::PieceEvent& event);
  void apply(const endpoint::ProgressEvent& event);
  void let_in(const endpoint::ConnectionEvent& event);
  void end(ConnectionState& connection, Status status, ErrorCode error, std::string_view reason);
  void end(TransferState& transfer, Status status, std::string_view reason);
  void log_refused(const endpoint::ConnectionEvent& event);
  void log_end(const ConnectionState& connection, Status status, std::string_view reason);
  bool deliver();

  void insert(std::shared_ptr<TransferState> transfer);
  TransferState* find(endpoint::TransferId id) const noexcept;
  std::shared_ptr<TransferState> remove(endpoint::TransferId id) noexcept;
  std::size_t bucket_of(endpoint::TransferId id) const noexcept {
    return static_cast<std::size_t>(id) & (buckets_.size() - 1);
  }

  EndpointImpl& endpoint_;
  CompletionQueue& completions_;
  AcceptQueue& accepts_;
  const Logger& logger_;
  std::atomic<bool> closing_{false};
  // Identifiers are given in order, so their low bits spread transfers evenly over the buckets.
  std::vector<TransferState*> buckets_;
  std::unordered_map<endpoint::ConnectionId, std::shared_ptr<ConnectionState>> connections_;
  RefusalLog refusal_log_;
  // An event whose effects have been applied but whose completion found no room.
  bool applied_ = false;
  bool wanted_ = false;  // the event comes with a completion
  Completion completion_;
};

}  // namespace longhaul::api
