// SPDX-License-Identifier: Apache-2.0
// What any thread may ask of a worker. Plain data, carried by the mailbox.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "lib/endpoint/messages.hpp"
#include "lib/io/backend.hpp"
#include "lib/runtime/wait_word.hpp"
#include "longhaul/time.hpp"

namespace longhaul::endpoint {
class Endpoint;
}

namespace longhaul::runtime {

/// Whoever waits for what comes of a request. Opaque to the worker, which only hands it to the sink
/// of events before the core hears of the request, so that no event can come before its owner.
class Owner {
 public:
  enum class Kind : std::uint8_t { transfer, connection };
  Owner(Kind of, std::uint64_t request) noexcept : kind(of), id(request) {}
  virtual ~Owner() = default;
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  const Kind kind;
  const std::uint64_t id;  ///< the TransferId or ConnectionId of the request
};

/// What a query may look at, on the worker's thread.
struct QueryView {
  Timestamp now{};
  const endpoint::Endpoint& core;
  io::Backend& backend;
  std::uint64_t transmit_blocked = 0;  ///< bursts the backend accepted only in part
};

/// A question answered on the worker. Shared, so that an asker may lose patience.
class Query {
 public:
  virtual ~Query() = default;
  virtual void answer(const QueryView& view) = 0;

  /// True once `answer` has returned; the answer may then be read from any thread.
  bool answered() const noexcept { return answered_.load(std::memory_order_acquire); }
  /// Runs `answer` and wakes the asker.
  void run(const QueryView& view) {
    answer(view);
    answered_.store(true, std::memory_order_release);
    waiting.notify();
  }
  WaitWord waiting;

 private:
  std::atomic<bool> answered_{false};
};

struct ListenRequest {};
struct CancelRequest {
  endpoint::ConnectionId connection = 0;
  endpoint::TransferId transfer = 0;
};
struct ReadyRequest {
  endpoint::ConnectionId connection = 0;
  endpoint::TransferId transfer = 0;
  std::uint64_t bytes = 0;
};
struct CloseRequest {
  endpoint::ConnectionId connection = 0;
  std::string reason;
};
struct QueryRequest {
  std::shared_ptr<Query> query;
};

struct Request {
  std::variant<ListenRequest, endpoint::ConnectRequest, endpoint::SendRequest,
               endpoint::ReceiveRequest, CancelRequest, ReadyRequest, CloseRequest, QueryRequest>
      body;
  std::shared_ptr<Owner> owner;  ///< of a connect, send or receive
  /// When the application called: deadlines count from there, not from when the worker looked.
  Timestamp posted_at{};
};

}  // namespace longhaul::runtime
