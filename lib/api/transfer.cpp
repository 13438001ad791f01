// SPDX-License-Identifier: Apache-2.0
#include "longhaul/transfer.hpp"

#include <string>
#include <utility>

#include "lib/api/endpoint_impl.hpp"
#include "lib/api/state.hpp"

namespace longhaul {
namespace {

tl::unexpected<Error> no_transfer() {
  return fail(ErrorCode::closed, "the handle names no transfer");
}

}  // namespace

Transfer::Transfer(std::shared_ptr<api::TransferState> state) noexcept : state_(std::move(state)) {}

std::uint64_t Transfer::id() const noexcept {
  return state_ == nullptr ? 0 : state_->id;
}

Status Transfer::status() const noexcept {
  if (state_ == nullptr || state_->endpoint->foreign()) return Status::closed;
  return state_->status.load(std::memory_order_acquire);
}

Progress Transfer::progress() const noexcept {
  if (state_ == nullptr) return {};
  return {state_->bytes, state_->placed.load(std::memory_order_relaxed),
          state_->verified.load(std::memory_order_relaxed)};
}

std::string Transfer::reason() const {
  if (state_ == nullptr) return {};
  if (state_->endpoint->foreign()) return state_->endpoint->closed_error().context;
  return is_terminal(status()) ? state_->reason : std::string();
}

Result<Status> Transfer::wait(std::optional<Duration> timeout) const {
  if (state_ == nullptr) return no_transfer();
  api::EndpointImpl& endpoint = *state_->endpoint;
  if (endpoint.foreign()) return tl::unexpected(endpoint.closed_error());
  const auto done = [this] { return is_terminal(state_->status.load(std::memory_order_acquire)); };
  if (endpoint.wait(state_->waiting, done, timeout)) return status();
  if (endpoint.foreign()) return tl::unexpected(endpoint.closed_error());
  return fail(ErrorCode::timed_out, "the transfer goes on");
}

Result<void> Transfer::cancel() const {
  if (state_ == nullptr) return no_transfer();
  if (state_->endpoint->foreign()) return tl::unexpected(state_->endpoint->closed_error());
  if (is_terminal(status())) return {};
  runtime::Request request;
  request.body = runtime::CancelRequest{state_->connection, state_->id};
  return state_->endpoint->post(std::move(request));
}

Result<void> Transfer::ready(std::uint64_t bytes) const {
  if (state_ == nullptr) return no_transfer();
  if (state_->endpoint->foreign()) return tl::unexpected(state_->endpoint->closed_error());
  if (!state_->growing) {
    return fail(ErrorCode::invalid_argument,
                "ready() is for a send with SendOptions::growing; this is none");
  }
  if (bytes > state_->bytes) {
    return fail(ErrorCode::invalid_argument, "ready(" + std::to_string(bytes) +
                                                 ") is beyond the tensor's " +
                                                 std::to_string(state_->bytes) + " bytes");
  }
  std::uint64_t before = state_->ready.load(std::memory_order_relaxed);
  if (bytes < before) {
    return fail(ErrorCode::invalid_argument, "ready(" + std::to_string(bytes) + ") after ready(" +
                                                 std::to_string(before) +
                                                 "): a valid prefix never shrinks");
  }
  if (is_terminal(status())) return {};
  runtime::Request request;
  request.body = runtime::ReadyRequest{state_->connection, state_->id, bytes};
  if (auto posted = state_->endpoint->post(std::move(request)); !posted) return posted;
  while (before < bytes && !state_->ready.compare_exchange_weak(before, bytes)) {
  }
  return {};
}

std::vector<ByteRange> Transfer::received_ranges() const {
  if (state_ == nullptr || state_->endpoint->foreign() || !is_terminal(status())) return {};
  return state_->received;
}

}  // namespace longhaul
