// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "longhaul/address.hpp"
#include "longhaul/export.hpp"
#include "longhaul/stats.hpp"
#include "longhaul/tensor.hpp"
#include "longhaul/transfer.hpp"

namespace longhaul {

namespace api {
struct ConnectionState;
}

/// Handle of one connection. Cheap to copy; any thread may call. Calls only enqueue: a full queue,
/// or `EndpointConfig::transfers_max` outstanding transfers of a direction, answers `would_block`
/// and changes nothing.
class LONGHAUL_API Connection {
 public:
  Connection() = default;
  explicit Connection(std::shared_ptr<api::ConnectionState> state) noexcept;

  bool valid() const noexcept { return state_ != nullptr; }
  std::uint64_t id() const noexcept;
  /// Where the peer is now: a peer that changes its address is followed once it proved the new one.
  SocketAddress remote_address() const;
  /// pending while connecting, completed when open, otherwise why it ended. It ends after its
  /// transfers have.
  Status status() const noexcept;
  /// One line of printable UTF-8 saying why it ended; empty while open.
  std::string reason() const;

  /// Starts the n-th send of `tag`. `tensor` memory is borrowed until the terminal status. Allowed
  /// while connecting. On a connection that has ended: the error it ended with.
  Result<Transfer> send_tensor(Tag tag, const ConstTensorView& tensor,
                               const SendOptions& options = {}) const;
  /// Posts the n-th receive of `tag`; dtype and shape must equal the sender's.
  Result<Transfer> recv_tensor(Tag tag, const TensorView& tensor,
                               const ReceiveOptions& options = {}) const;
  /// Many tensors as one transfer with one completion. The span is read during the call only.
  Result<Transfer> send_tensors(Tag tag, std::span<const ConstTensorView> tensors,
                                const SendOptions& options = {}) const;
  Result<Transfer> recv_tensors(Tag tag, std::span<const TensorView> tensors,
                                const ReceiveOptions& options = {}) const;

  /// Waits until an asynchronous connect ended. On a `caller_polls` endpoint it drives it
  /// meanwhile.
  Result<void> wait_connected(std::optional<Duration> timeout = std::nullopt) const;
  /// Snapshot taken on the worker; `would_block` when it does not answer within `timeout`.
  Result<ConnectionStats> stats(Duration timeout = std::chrono::seconds(1)) const;
  /// Tells the peer; outstanding requests end `closed` on both sides.
  Result<void> close(std::string_view reason = {}) const;

 private:
  std::shared_ptr<api::ConnectionState> state_;
};

}  // namespace longhaul
