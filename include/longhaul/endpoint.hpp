// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "longhaul/config.hpp"
#include "longhaul/connection.hpp"
#include "longhaul/export.hpp"
#include "longhaul/stats.hpp"
#include "longhaul/tensor.hpp"
#include "longhaul/transfer.hpp"

namespace longhaul {

namespace api {
class EndpointImpl;
}

struct ConnectOptions {
  std::optional<Duration> timeout;  ///< none = `EndpointConfig::connect_timeout`
  std::uint64_t cookie = 0;         ///< comes back in the `connected` completion
};

/// A socket-like object: binds one address, connects, accepts, completes. Movable, not copyable.
/// Any thread may call; nothing blocks on a worker except the calls documented as waiting.
/// After `fork()` the child's copies answer `closed` and touch nothing.
class LONGHAUL_API Endpoint {
 public:
  /// Binds and starts. Errors: address_in_use, wrong_family, no_permission, unsupported,
  /// cannot_fill_pipe, invalid_argument, system.
  static Result<Endpoint> open(EndpointConfig config);

  Endpoint() = default;
  explicit Endpoint(std::shared_ptr<api::EndpointImpl> impl) noexcept;
  Endpoint(Endpoint&&) noexcept = default;
  Endpoint& operator=(Endpoint&&) noexcept;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  /// Closes; see `close()`.
  ~Endpoint();

  bool valid() const noexcept { return impl_ != nullptr; }
  SocketAddress local_address() const;

  /// From now on clients are let in; each shows up as an `incoming` completion. Waits until the
  /// worker knows of it.
  Result<void> listen();
  /// Takes a waiting connection. Without a timeout it does not wait: `would_block` if there is
  /// none.
  Result<Connection> accept(std::optional<Duration> timeout = std::nullopt);
  /// Starts connecting and returns at once; ends with a `connected` completion.
  Result<Connection> connect_async(const SocketAddress& remote, const ConnectOptions& options = {});
  /// Connects and waits.
  Result<Connection> connect(const SocketAddress& remote, const ConnectOptions& options = {});

  /// Registers memory for transfers. The range must stay mapped until `unregister_memory`, which
  /// refuses while a transfer still uses it. Both wait until the worker has done it.
  /// Kinds other than host: `unsupported`, by name.
  Result<Region> register_memory(void* data, std::uint64_t bytes,
                                 MemoryKind kind = MemoryKind::host);
  Result<void> unregister_memory(Region region);

  /// Takes up to `out.size()` completions, oldest first; returns how many. Never waits.
  std::size_t poll(std::span<Completion> out);
  /// Readable (level-triggered, for epoll) while completions wait. Owned by the endpoint; do not
  /// read or close it. -1 on a closed or virtual-time endpoint.
  int completion_fd() const noexcept;

  /// `caller_polls` only: one turn of the worker loop. Returns true when there was work.
  bool run_once();

  /// Snapshot; `would_block` when the worker does not answer within `timeout`.
  Result<EndpointStats> stats(Duration timeout = std::chrono::seconds(1)) const;
  /// Names each outstanding transfer: peer, tag, n, age, missing bytes; one line a call of `sink`.
  Result<void> dump(const std::function<void(std::string_view)>& sink,
                    Duration timeout = std::chrono::seconds(1)) const;

  /// Ends every request (`closed`), tells the peers, stops the workers, returns all memory.
  /// Idempotent.
  void close();

 private:
  std::shared_ptr<api::EndpointImpl> impl_;
};

}  // namespace longhaul
