// SPDX-License-Identifier: Apache-2.0
#include "longhaul/connection.hpp"

#include <string>
#include <utility>

#include "lib/api/endpoint_impl.hpp"
#include "lib/api/state.hpp"
#include "lib/base/plain_text.hpp"

namespace longhaul {
namespace {

constexpr std::size_t kReasonMax = 255;  // what a close packet carries

tl::unexpected<Error> no_connection() {
  return fail(ErrorCode::closed, "the handle names no connection");
}

Result<Transfer> handle_of(Result<std::shared_ptr<api::TransferState>>&& state) {
  if (!state) return tl::unexpected(state.error());
  return Transfer(std::move(*state));
}

}  // namespace

Connection::Connection(std::shared_ptr<api::ConnectionState> state) noexcept
    : state_(std::move(state)) {}

std::uint64_t Connection::id() const noexcept {
  return state_ == nullptr ? 0 : state_->id;
}

SocketAddress Connection::remote_address() const {
  return state_ == nullptr ? SocketAddress{} : state_->remote();
}

Status Connection::status() const noexcept {
  if (state_ == nullptr || state_->endpoint->foreign()) return Status::closed;
  return state_->status.load(std::memory_order_acquire);
}

std::string Connection::reason() const {
  if (state_ == nullptr) return {};
  if (state_->endpoint->foreign()) return state_->endpoint->closed_error().context;
  return state_->ended() ? state_->reason : std::string();
}

Result<Transfer> Connection::send_tensor(Tag tag, const ConstTensorView& tensor,
                                         const SendOptions& options) const {
  return send_tensors(tag, {&tensor, 1}, options);
}

Result<Transfer> Connection::recv_tensor(Tag tag, const TensorView& tensor,
                                         const ReceiveOptions& options) const {
  return recv_tensors(tag, {&tensor, 1}, options);
}

Result<Transfer> Connection::send_tensors(Tag tag, std::span<const ConstTensorView> tensors,
                                          const SendOptions& options) const {
  if (state_ == nullptr) return no_connection();
  return handle_of(state_->endpoint->send(*state_, tag, tensors, options));
}

Result<Transfer> Connection::recv_tensors(Tag tag, std::span<const TensorView> tensors,
                                          const ReceiveOptions& options) const {
  if (state_ == nullptr) return no_connection();
  return handle_of(state_->endpoint->receive(*state_, tag, tensors, options));
}

Result<void> Connection::wait_connected(std::optional<Duration> timeout) const {
  if (state_ == nullptr) return no_connection();
  api::EndpointImpl& endpoint = *state_->endpoint;
  const auto done = [this] {
    return state_->status.load(std::memory_order_acquire) != Status::pending;
  };
  const bool settled = endpoint.wait(state_->waiting, done, timeout);
  if (endpoint.foreign()) return tl::unexpected(endpoint.closed_error());
  if (!settled) {
    return fail(ErrorCode::timed_out, "still connecting to " + to_string(state_->remote()));
  }
  if (state_->ended()) return fail(state_->error, state_->reason);
  return {};
}

Result<ConnectionStats> Connection::stats(Duration timeout) const {
  if (state_ == nullptr) return no_connection();
  return state_->endpoint->connection_stats(state_->id, timeout);
}

Result<void> Connection::close(std::string_view reason) const {
  if (state_ == nullptr) return no_connection();
  if (state_->endpoint->foreign()) return tl::unexpected(state_->endpoint->closed_error());
  if (state_->ended()) return {};
  runtime::Request request;
  request.body = runtime::CloseRequest{state_->id, base::plain_text(reason, kReasonMax)};
  return state_->endpoint->post(std::move(request));
}

}  // namespace longhaul
