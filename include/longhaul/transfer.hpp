// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "longhaul/export.hpp"
#include "longhaul/result.hpp"
#include "longhaul/status.hpp"
#include "longhaul/time.hpp"

namespace longhaul {

/// Names a stream of transfers within one connection and direction: the n-th send of a tag meets
/// the n-th receive of that tag.
using Tag = std::uint64_t;

/// Half-open range of bytes of a tensor (of the concatenation, for a list).
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

struct SendOptions {
  TrafficClass traffic_class = TrafficClass::bulk;
  Reliability reliability = Reliability::exact;
  std::uint64_t loss_budget = 0;       ///< bytes that may be missing; `bounded_loss` only
  std::optional<Duration> deadline{};  ///< from this call; none = as long as the peer lives
  /// The source is valid only as far as `Transfer::ready()` says; nothing at first.
  bool growing = false;
  std::uint64_t cookie = 0;  ///< comes back in the completion
};

struct ReceiveOptions {
  std::optional<Duration> deadline{};  ///< from this call; none = as long as the peer lives
  /// Report byte ranges as `Completion::Kind::placed` and `::verified` while they arrive.
  bool piece_events = false;
  std::uint64_t cookie = 0;
};

/// How far a transfer has come.
struct Progress {
  std::uint64_t bytes = 0;     ///< size of the transfer; for a receive, of what was posted
  std::uint64_t placed = 0;    ///< receive: passed their packet's integrity check. send: left once
  std::uint64_t verified = 0;  ///< receive: digest-checked. send: same as bytes once completed
};

namespace api {
struct TransferState;
}

/// Handle of one tensor on its way. Cheap to copy; dropping it does not cancel the transfer.
/// All calls may be made from any thread and none of them blocks on a worker, except `wait`.
class LONGHAUL_API Transfer {
 public:
  Transfer() = default;
  explicit Transfer(std::shared_ptr<api::TransferState> state) noexcept;

  bool valid() const noexcept { return state_ != nullptr; }
  /// Unique within the endpoint; also in the completion.
  std::uint64_t id() const noexcept;
  Status status() const noexcept;
  Progress progress() const noexcept;
  /// One line of printable UTF-8 saying why, when the status is not `completed`; may be empty.
  std::string reason() const;

  /// Waits for the terminal status; `timed_out` error when `timeout` passes first (the transfer
  /// goes on). On an endpoint with `caller_polls` it drives that endpoint meanwhile.
  Result<Status> wait(std::optional<Duration> timeout = std::nullopt) const;

  /// Asks for the end; the terminal status comes as usual and may still be `completed`.
  Result<void> cancel() const;
  /// A growing source is valid up to `bytes` (a prefix, never shrinking).
  Result<void> ready(std::uint64_t bytes) const;

  /// After `completed_partial`: the ranges that arrived, ascending, disjoint.
  std::vector<ByteRange> received_ranges() const;

 private:
  std::shared_ptr<api::TransferState> state_;
};

/// What `Endpoint::poll()` returns.
struct Completion {
  enum class Kind : std::uint8_t {
    transfer = 0,     ///< terminal: `status` is final, the memory is the caller's again
    placed = 1,       ///< `range` was placed; still to be verified
    verified = 2,     ///< `range` passed its digest
    connected = 3,    ///< an asynchronous connect ended; `status` completed or why not
    incoming = 4,     ///< a connection waits in `Endpoint::accept()`
    disconnected = 5  ///< a connection ended; its requests have all got their status
  };
  Kind kind = Kind::transfer;
  Status status = Status::pending;
  std::uint64_t cookie = 0;
  std::uint64_t transfer_id = 0;
  std::uint64_t connection_id = 0;
  Tag tag = 0;
  std::uint64_t bytes = 0;  ///< of the tensor
  ByteRange range{};
};

}  // namespace longhaul
