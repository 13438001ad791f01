// SPDX-License-Identifier: Apache-2.0
#include "lib/api/event_router.hpp"

#include <string>
#include <utility>
#include <variant>

#include "lib/api/endpoint_impl.hpp"

namespace longhaul::api {
namespace {

/// The bit that tells IDs apart makes a number of nineteen digits.
std::string name_of(const ConnectionState& connection) {
  const bool incoming = (connection.id & endpoint::kIncomingBit) != 0;
  return (incoming ? "incoming connection " : "connection ") +
         std::to_string(connection.id & ~endpoint::kIncomingBit);
}

Completion completion_of(Completion::Kind kind, const ConnectionState& connection, Status status) {
  Completion completion;
  completion.kind = kind;
  completion.status = status;
  completion.cookie = connection.cookie;
  completion.connection_id = connection.id;
  return completion;
}

Completion completion_of(const TransferState& transfer, std::uint64_t cookie, Status status) {
  Completion completion;
  completion.kind = Completion::Kind::transfer;
  completion.status = status;
  completion.cookie = cookie;
  completion.transfer_id = transfer.id;
  completion.connection_id = transfer.connection;
  completion.tag = transfer.tag;
  completion.bytes = transfer.bytes;
  return completion;
}

}  // namespace

EventRouter::EventRouter(EndpointImpl& endpoint, CompletionQueue& completions, AcceptQueue& accepts,
                         const Logger& logger, std::size_t buckets)
    : endpoint_(endpoint),
      completions_(completions),
      accepts_(accepts),
      logger_(logger),
      buckets_(buckets, nullptr) {}

EventRouter::~EventRouter() = default;

void EventRouter::adopt(std::shared_ptr<runtime::Owner> owner) {
  if (owner->kind == runtime::Owner::Kind::transfer) {
    insert(std::static_pointer_cast<TransferState>(std::move(owner)));
  } else {
    const auto id = owner->id;
    connections_.emplace(id, std::static_pointer_cast<ConnectionState>(std::move(owner)));
  }
}

// The effects come first and once; the completion follows as soon as it finds room.
bool EventRouter::on_event(endpoint::Event& event) {
  if (!applied_) {
    wanted_ = false;
    std::visit([this](auto& kind) { apply(kind); }, event);
    applied_ = true;
  }
  if (wanted_ && !deliver()) return false;
  applied_ = false;
  return true;
}

bool EventRouter::deliver() {
  if (!closing_.load(std::memory_order_relaxed)) return completions_.push(completion_);
  completions_.push_last(completion_);
  return true;
}

void EventRouter::apply(const endpoint::ConnectionEvent& event) {
  if (event.kind == endpoint::ConnectionEvent::Kind::incoming) {
    let_in(event);
    return;
  }
  if (event.kind == endpoint::ConnectionEvent::Kind::refused) {
    log_refused(event);
    return;
  }
  const auto found = connections_.find(event.connection);
  if (found == connections_.end()) return;
  const std::shared_ptr<ConnectionState> connection = found->second;
  if (event.kind == endpoint::ConnectionEvent::Kind::moved) {
    logger_.log(LogLevel::info, name_of(*connection) + " moved from " +
                                    to_string(connection->remote()) + " to " +
                                    to_string(event.remote));
    connection->set_remote(event.remote);
    return;
  }
  if (event.kind == endpoint::ConnectionEvent::Kind::connected) {
    wanted_ = connection->announce;
    completion_ = completion_of(Completion::Kind::connected, *connection, event.status);
    if (event.status == Status::completed) {
      connection->status.store(Status::completed, std::memory_order_release);
      connection->waiting.notify();
      return;
    }
  } else {
    wanted_ = true;
    completion_ = completion_of(Completion::Kind::disconnected, *connection, event.status);
  }
  connections_.erase(found);
  log_end(*connection, event.status, event.reason);
  end(*connection, event.status, event.error, event.reason);
}

void EventRouter::let_in(const endpoint::ConnectionEvent& event) {
  auto connection = std::make_shared<ConnectionState>(endpoint_.shared_from_this(),
                                                      event.connection, event.remote);
  connection->status.store(Status::completed, std::memory_order_relaxed);
  connections_.emplace(event.connection, connection);

  // The ring holds as many as there may be connections, so only dead ones can be in the way.
  auto waiting = connection;
  bool queued = accepts_.ring.try_push(std::move(waiting));
  for (std::size_t i = 0; !queued && i < accepts_.ring.capacity(); ++i) {
    std::shared_ptr<ConnectionState> oldest;
    if (accepts_.ring.try_pop(oldest) && !oldest->ended()) {
      accepts_.ring.try_push(std::move(oldest));
    } else {
      queued = accepts_.ring.try_push(std::move(waiting));
    }
  }
  if (!queued) {
    runtime::Request request;
    request.body = runtime::CloseRequest{event.connection, "the accept queue is full"};
    (void)endpoint_.post(std::move(request));
    return;
  }
  accepts_.waiting.notify();
  wanted_ = true;
  completion_ = completion_of(Completion::Kind::incoming, *connection, Status::completed);
}

void EventRouter::apply(endpoint::TransferEvent& event) {
  const std::shared_ptr<TransferState> transfer = remove(event.transfer);
  if (transfer == nullptr) return;
  transfer->received = std::move(event.received);
  if (event.status == Status::completed) {
    transfer->placed.store(event.bytes, std::memory_order_relaxed);
    transfer->verified.store(event.bytes, std::memory_order_relaxed);
  }
  wanted_ = true;
  completion_ = completion_of(*transfer, event.cookie, event.status);
  end(*transfer, event.status, event.reason);
}

void EventRouter::apply(const endpoint::PieceEvent& event) {
  wanted_ = true;
  completion_ = Completion{};
  completion_.kind = event.verified ? Completion::Kind::verified : Completion::Kind::placed;
  completion_.cookie = event.cookie;
  completion_.transfer_id = event.transfer;
  completion_.connection_id = event.connection;
  completion_.tag = event.tag;
  completion_.range = event.range;
  if (const TransferState* transfer = find(event.transfer); transfer != nullptr) {
    completion_.bytes = transfer->bytes;
  }
}

void EventRouter::apply(const endpoint::ProgressEvent& event) {
  TransferState* transfer = find(event.transfer);
  if (transfer == nullptr) return;
  transfer->placed.store(event.placed, std::memory_order_relaxed);
  transfer->verified.store(event.verified, std::memory_order_relaxed);
}

void EventRouter::end(ConnectionState& connection, Status status, ErrorCode error,
                      std::string_view reason) {
  connection.error = error;
  connection.reason = reason;
  connection.status.store(status, std::memory_order_release);
  connection.waiting.notify();
}

void EventRouter::end(TransferState& transfer, Status status, std::string_view reason) {
  transfer.regions.clear();
  transfer.admission.release();
  transfer.reason = reason;
  transfer.status.store(status, std::memory_order_release);
  transfer.waiting.notify();
}

void EventRouter::log_refused(const endpoint::ConnectionEvent& event) {
  const auto line = refusal_log_.on_refused(endpoint_.now(), event.remote, event.reason);
  if (line) logger_.log(LogLevel::warning, *line);
}

void EventRouter::log_end(const ConnectionState& connection, Status status,
                          std::string_view reason) {
  LogLevel level = LogLevel::info;
  if (status == Status::internal) level = LogLevel::error;
  if (status == Status::peer_lost) level = LogLevel::warning;
  logger_.log(level, name_of(connection) + " with " + to_string(connection.remote()) + " ended " +
                         std::string(to_string(status)) + (reason.empty() ? "" : ": ") +
                         std::string(reason));
}

void EventRouter::finish(Status status, std::string_view reason) {
  for (TransferState*& head : buckets_) {
    while (head != nullptr) {
      const std::shared_ptr<TransferState> transfer = remove(head->id);
      end(*transfer, status, reason);
      completions_.push_last(completion_of(*transfer, transfer->cookie, status));
    }
  }
  const ErrorCode error = status == Status::internal ? ErrorCode::internal : ErrorCode::closed;
  for (auto& [id, connection] : connections_) {
    const bool opened = connection->status.load(std::memory_order_relaxed) != Status::pending;
    end(*connection, status, error, reason);
    if (opened || connection->announce) {
      completions_.push_last(
          completion_of(opened ? Completion::Kind::disconnected : Completion::Kind::connected,
                        *connection, status));
    }
  }
  connections_.clear();
}

void EventRouter::insert(std::shared_ptr<TransferState> transfer) {
  TransferState*& head = buckets_[bucket_of(transfer->id)];
  transfer->next = head;
  head = transfer.get();
  head->self = std::move(transfer);
}

TransferState* EventRouter::find(endpoint::TransferId id) const noexcept {
  TransferState* transfer = buckets_[bucket_of(id)];
  while (transfer != nullptr && transfer->id != id) transfer = transfer->next;
  return transfer;
}

std::shared_ptr<TransferState> EventRouter::remove(endpoint::TransferId id) noexcept {
  TransferState** link = &buckets_[bucket_of(id)];
  while (*link != nullptr && (*link)->id != id) link = &(*link)->next;
  if (*link == nullptr) return nullptr;
  TransferState* const transfer = *link;
  *link = transfer->next;
  transfer->next = nullptr;
  return std::move(transfer->self);
}

}  // namespace longhaul::api
