// SPDX-License-Identifier: Apache-2.0
// What applications ask of an endpoint: check, enqueue, and for some calls wait.
#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "lib/api/endpoint_impl.hpp"
#include "lib/api/entry.hpp"
#include "lib/api/queries.hpp"
#include "lib/api/views.hpp"

namespace longhaul::api {
namespace {

tl::unexpected<Error> out_of_memory() {
  return fail(ErrorCode::budget_exceeded, "out of memory");
}

tl::unexpected<Error> ended(const ConnectionState& connection) {
  return fail(connection.error, "the connection has ended" +
                                    (connection.reason.empty() ? "" : ": " + connection.reason));
}

tl::unexpected<Error> too_many(const char* what) {
  return fail(ErrorCode::would_block,
              std::string("transfers_max ") + what +
                  " of this connection are outstanding; wait for some to end, or raise it");
}

// Longer than any endpoint lives, and short enough to be added to any time.
Duration bounded(Duration time) {
  return std::min<Duration>(time, std::chrono::hours(24 * 365));
}

std::optional<Duration> bounded(std::optional<Duration> time) {
  return time ? std::optional(bounded(*time)) : time;
}

const char* name_of(AddressFamily family) {
  return family == AddressFamily::ipv4 ? "IPv4" : "IPv6";
}

bool is_link_local(const SocketAddress& address) {
  return address.family == AddressFamily::ipv6 && address.bytes[0] == 0xfe &&
         (address.bytes[1] & 0xc0U) == 0x80;
}

}  // namespace

Error EndpointImpl::closed_error() const {
  if (foreign()) {
    return {ErrorCode::closed, 0, "opened before fork(): it belongs to the parent; open another"};
  }
  return {ErrorCode::closed, 0, "the endpoint is closed"};
}

Result<void> EndpointImpl::post(runtime::Request&& request) {
  const Entry entry(*this);
  if (!entry) return tl::unexpected(closed_error());
  bool posted = worker_->post(std::move(request));
  if (!posted && driver_ != nullptr && driver_->make_room()) {
    posted = worker_->post(std::move(request));
  }
  if (!posted) {
    return fail(ErrorCode::would_block, "the worker's mailbox is full; call again a little later");
  }
  if (driver_ != nullptr) driver_->poke();
  return {};
}

Result<void> EndpointImpl::ask(const std::shared_ptr<runtime::Query>& query,
                               std::optional<Duration> timeout) {
  if (driver_ != nullptr) {
    // Everything is on this thread, and a question must not move virtual time.
    const Entry entry(*this);
    if (!entry) return tl::unexpected(closed_error());
    worker_->answer(*query, clock_->now());
    return {};
  }
  runtime::Request request;
  request.body = runtime::QueryRequest{query};
  if (auto posted = post(std::move(request)); !posted) return posted;
  const auto done = [&] { return query->answered() || closing_.load(std::memory_order_acquire); };
  wait(query->waiting, done, timeout);
  if (query->answered()) return {};
  if (closing_.load(std::memory_order_acquire)) return tl::unexpected(closed_error());
  return fail(ErrorCode::would_block, "the worker did not answer in time; is it polled?");
}

// Waits, so that a client that is told of the port afterwards is never turned away.
Result<void> EndpointImpl::listen() {
  runtime::Request request;
  request.body = runtime::ListenRequest{};
  if (auto posted = post(std::move(request)); !posted) return posted;
  listening_.store(true, std::memory_order_relaxed);
  return ask(std::make_shared<EchoQuery>(), std::nullopt);
}

Result<std::shared_ptr<ConnectionState>> EndpointImpl::accept(std::optional<Duration> timeout) {
  if (foreign() || closing_.load(std::memory_order_acquire)) {
    return tl::unexpected(closed_error());
  }
  if (!listening_.load(std::memory_order_relaxed)) {
    return fail(ErrorCode::invalid_argument, "call listen() before accept()");
  }
  std::shared_ptr<ConnectionState> found;
  const auto done = [&] {
    return accepts_.ring.try_pop(found) || closing_.load(std::memory_order_acquire);
  };
  if (timeout) {
    wait(accepts_.waiting, done, timeout);
  } else {
    done();
  }
  if (found != nullptr) return found;
  if (closing_.load(std::memory_order_acquire)) return tl::unexpected(closed_error());
  if (timeout) return fail(ErrorCode::timed_out, "no client came in time");
  return fail(ErrorCode::would_block, "no connection waits");
}

Result<std::shared_ptr<ConnectionState>> EndpointImpl::connect(const SocketAddress& remote,
                                                               const ConnectOptions& options,
                                                               bool announce) {
  if (remote.family != local_.family) {
    return fail(ErrorCode::wrong_family, to_string(remote) + " is " + name_of(remote.family) +
                                             ", but this endpoint is bound to " +
                                             name_of(local_.family) + " (" + to_string(local_) +
                                             ")");
  }
  if (remote.port == 0) {
    return fail(ErrorCode::invalid_argument, "the remote port is 0; give the server's port");
  }
  if (is_link_local(remote) && remote.scope_id == 0 && config_.device.empty()) {
    const std::string text = to_string(remote);
    const std::string host = text.substr(1, text.rfind(']') - 1);
    return fail(ErrorCode::invalid_argument, "the link-local address " + host +
                                                 " needs its interface, such as " + host +
                                                 "%eth0; `ip link` lists them");
  }
  if (options.timeout && *options.timeout <= Duration::zero()) {
    return fail(ErrorCode::invalid_argument, "the timeout of connect has to be above zero");
  }
  try {
    auto state = std::make_shared<ConnectionState>(
        shared_from_this(), next_id_.fetch_add(1, std::memory_order_relaxed), remote);
    state->cookie = options.cookie;
    state->announce = announce;
    runtime::Request request;
    request.body = endpoint::ConnectRequest{
        state->id, remote, bounded(options.timeout.value_or(config_.connect_timeout))};
    request.owner = state;
    if (auto posted = post(std::move(request)); !posted) return tl::unexpected(posted.error());
    return state;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

Result<std::shared_ptr<TransferState>> EndpointImpl::send(const ConnectionState& connection,
                                                          Tag tag,
                                                          std::span<const ConstTensorView> views,
                                                          const SendOptions& options) {
  if (foreign()) return tl::unexpected(closed_error());
  if (connection.ended()) return ended(connection);
  try {
    auto checked = check_views(views, regions_);
    if (!checked) return tl::unexpected(checked.error());
    if (auto result = check_options(options, checked->bytes); !result) {
      return tl::unexpected(result.error());
    }
    auto state = new_transfer(connection, tag, checked->bytes, options.cookie);
    if (!state->admission.enter({connection.outstanding, &connection.outstanding->sends},
                                config_.transfers_max)) {
      return too_many("sends");
    }
    state->growing = options.growing;
    state->regions = std::move(checked->regions);
    runtime::Request request;
    SendOptions kept = options;
    kept.deadline = bounded(options.deadline);
    request.body =
        endpoint::SendRequest{connection.id, state->id, tag, std::move(checked->segments), kept};
    return post_transfer(std::move(state), std::move(request));
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

Result<std::shared_ptr<TransferState>> EndpointImpl::receive(const ConnectionState& connection,
                                                             Tag tag,
                                                             std::span<const TensorView> views,
                                                             const ReceiveOptions& options) {
  if (foreign()) return tl::unexpected(closed_error());
  if (connection.ended()) return ended(connection);
  try {
    auto checked = check_views(views, regions_);
    if (!checked) return tl::unexpected(checked.error());
    if (auto result = check_options(options); !result) return tl::unexpected(result.error());
    auto state = new_transfer(connection, tag, checked->bytes, options.cookie);
    if (!state->admission.enter({connection.outstanding, &connection.outstanding->receives},
                                config_.transfers_max)) {
      return too_many("receives");
    }
    state->regions = std::move(checked->regions);
    runtime::Request request;
    ReceiveOptions kept = options;
    kept.deadline = bounded(options.deadline);
    request.body =
        endpoint::ReceiveRequest{connection.id, state->id, tag, std::move(checked->segments), kept};
    return post_transfer(std::move(state), std::move(request));
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

std::shared_ptr<TransferState> EndpointImpl::new_transfer(const ConnectionState& connection,
                                                          Tag tag, std::uint64_t bytes,
                                                          std::uint64_t cookie) {
  auto state = std::make_shared<TransferState>(shared_from_this(),
                                               next_id_.fetch_add(1, std::memory_order_relaxed));
  state->connection = connection.id;
  state->tag = tag;
  state->bytes = bytes;
  state->cookie = cookie;
  return state;
}

Result<std::shared_ptr<TransferState>> EndpointImpl::post_transfer(
    std::shared_ptr<TransferState> state, runtime::Request&& request) {
  request.owner = state;
  request.posted_at = clock_->now();
  if (auto posted = post(std::move(request)); !posted) return tl::unexpected(posted.error());
  return state;
}

Result<Region> EndpointImpl::register_memory(void* data, std::uint64_t bytes, MemoryKind kind) {
  if (kind != MemoryKind::host) {
    return fail(ErrorCode::unsupported, "memory kind " + std::string(name_of(kind)) +
                                            " is not supported yet; register host memory");
  }
  if (data == nullptr || bytes == 0) {
    return fail(ErrorCode::invalid_argument, "there is no memory to register (null or 0 bytes)");
  }
  try {
    const std::span memory(static_cast<std::byte*>(data), static_cast<std::size_t>(bytes));
    const auto query = std::make_shared<RegisterQuery>(regions_.reserve(), memory);
    if (auto asked = ask(query, std::nullopt); !asked) return tl::unexpected(asked.error());
    if (!query->result) return tl::unexpected(query->result.error());
    regions_.insert(query->region, memory);
    return query->region;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

Result<void> EndpointImpl::unregister_memory(Region region) {
  if (foreign() || closing_.load(std::memory_order_acquire)) {
    return tl::unexpected(closed_error());
  }
  if (auto removed = regions_.remove(region); !removed) return tl::unexpected(removed.error());
  return ask(std::make_shared<UnregisterQuery>(region), std::nullopt);
}

std::size_t EndpointImpl::poll(std::span<Completion> out) {
  if (foreign()) return 0;
  const Entry entry(*this);
  bool was_full = false;
  const std::size_t taken = completions_.take(out, static_cast<bool>(entry), was_full);
  if (was_full && entry) nudge();
  return taken;
}

int EndpointImpl::completion_fd() noexcept {
  const Entry entry(*this);
  return entry ? completions_.use_descriptor() : -1;
}

Result<EndpointStats> EndpointImpl::stats(Duration timeout) {
  const auto query = std::make_shared<EndpointStatsQuery>();
  if (auto asked = ask(query, timeout); !asked) return tl::unexpected(asked.error());
  query->stats.memory_budget_bytes = memory_budget_;
  return query->stats;
}

Result<ConnectionStats> EndpointImpl::connection_stats(std::uint64_t connection, Duration timeout) {
  const auto query = std::make_shared<ConnectionStatsQuery>(connection);
  if (auto asked = ask(query, timeout); !asked) return tl::unexpected(asked.error());
  if (!query->stats) return fail(ErrorCode::closed, "the connection has ended");
  return *query->stats;
}

Result<void> EndpointImpl::dump(const std::function<void(std::string_view)>& sink,
                                Duration timeout) {
  const auto query = std::make_shared<DumpQuery>();
  if (auto asked = ask(query, timeout); !asked) return asked;
  for (const std::string& line : query->lines) sink(line);
  return {};
}

}  // namespace longhaul::api
