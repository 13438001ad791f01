// SPDX-License-Identifier: Apache-2.0
// What handles share with the worker. The worker writes, any thread reads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/api/region_table.hpp"
#include "lib/endpoint/messages.hpp"
#include "lib/runtime/request.hpp"
#include "lib/runtime/wait_word.hpp"
#include "longhaul/transfer.hpp"

namespace longhaul::api {

class EndpointImpl;

/// One transfer. What is not atomic is either constant after posting or written before the terminal
/// status and read after it.
struct TransferState final : runtime::Owner {
  TransferState(std::shared_ptr<EndpointImpl> of, endpoint::TransferId transfer)
      : Owner(Kind::transfer, transfer), endpoint(std::move(of)) {}

  const std::shared_ptr<EndpointImpl> endpoint;
  endpoint::ConnectionId connection = 0;
  Tag tag = 0;
  std::uint64_t cookie = 0;
  std::uint64_t bytes = 0;
  bool growing = false;
  std::vector<RegionHold> regions;  ///< let go before the terminal status

  std::atomic<std::uint64_t> ready{0};  ///< how far a growing source was said to be valid
  std::atomic<std::uint64_t> placed{0};
  std::atomic<std::uint64_t> verified{0};
  std::string reason;
  std::vector<ByteRange> received;
  std::atomic<Status> status{Status::pending};
  runtime::WaitWord waiting;

  // The router's table of outstanding transfers: a chain in a bucket, and what keeps it alive.
  std::shared_ptr<TransferState> self;
  TransferState* next = nullptr;
};

/// One connection. `reason` and `error` are written once, before `ended`.
struct ConnectionState final : runtime::Owner {
  ConnectionState(std::shared_ptr<EndpointImpl> of, endpoint::ConnectionId connection,
                  const SocketAddress& peer)
      : Owner(Kind::connection, connection), endpoint(std::move(of)), remote_(peer) {}

  const std::shared_ptr<EndpointImpl> endpoint;
  std::uint64_t cookie = 0;
  bool announce = true;  ///< whether a `connected` completion is wanted

  ErrorCode error = ErrorCode::closed;
  std::string reason;
  /// pending, then completed, then why it ended; or pending and why it never opened.
  std::atomic<Status> status{Status::pending};
  runtime::WaitWord waiting;

  bool ended() const noexcept {
    const Status now = status.load(std::memory_order_acquire);
    return now != Status::pending && now != Status::completed;
  }

  /// Where the peer is now; it may move.
  SocketAddress remote() const {
    const std::lock_guard lock(remote_mutex_);
    return remote_;
  }
  void set_remote(const SocketAddress& peer) {
    const std::lock_guard lock(remote_mutex_);
    remote_ = peer;
  }

 private:
  mutable std::mutex remote_mutex_;
  SocketAddress remote_;
};

}  // namespace longhaul::api
