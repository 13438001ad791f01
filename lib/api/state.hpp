// SPDX-License-Identifier: Apache-2.0
// What handles share with the worker. The worker writes, any thread reads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lib/api/region_table.hpp"
#include "lib/endpoint/messages.hpp"
#include "lib/runtime/request.hpp"
#include "lib/runtime/wait_word.hpp"
#include "longhaul/transfer.hpp"

namespace longhaul::api {

class EndpointImpl;

/// How many transfers of a connection have no terminal status yet.
struct Outstanding {
  std::atomic<std::uint32_t> sends{0};
  std::atomic<std::uint32_t> receives{0};
};

/// One of them: counted from its birth to its terminal status, or to the end of the last handle if
/// it never was posted.
class Admission {
 public:
  Admission() = default;
  ~Admission() { release(); }
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;
  /// False if `most` are outstanding already.
  bool enter(std::shared_ptr<std::atomic<std::uint32_t>> count, std::uint32_t most) noexcept {
    if (count->fetch_add(1, std::memory_order_relaxed) >= most) {
      count->fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
    count_ = std::move(count);
    return true;
  }
  void release() noexcept {
    if (count_ != nullptr) count_->fetch_sub(1, std::memory_order_relaxed);
    count_.reset();
  }

 private:
  std::shared_ptr<std::atomic<std::uint32_t>> count_;
};

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
  Admission admission;              ///< likewise

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
  const std::shared_ptr<Outstanding> outstanding = std::make_shared<Outstanding>();
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
