// SPDX-License-Identifier: Apache-2.0
#include "longhaul/endpoint.hpp"

#include <utility>

#include "lib/api/endpoint_impl.hpp"

namespace longhaul {
namespace {

tl::unexpected<Error> not_open() {
  return fail(ErrorCode::closed, "the endpoint was never opened or was moved from");
}

}  // namespace

Result<Endpoint> Endpoint::open(EndpointConfig config) {
  auto impl = api::EndpointImpl::open(std::move(config));
  if (!impl) return tl::unexpected(impl.error());
  return Endpoint(std::move(*impl));
}

Endpoint::Endpoint(std::shared_ptr<api::EndpointImpl> impl) noexcept : impl_(std::move(impl)) {}

Endpoint& Endpoint::operator=(Endpoint&& other) noexcept {
  if (this != &other) {
    close();
    impl_ = std::move(other.impl_);
  }
  return *this;
}

Endpoint::~Endpoint() {
  close();
}

SocketAddress Endpoint::local_address() const {
  return impl_ == nullptr ? SocketAddress{} : impl_->local_address();
}

Result<void> Endpoint::listen() {
  return impl_ == nullptr ? not_open() : impl_->listen();
}

Result<Connection> Endpoint::accept(std::optional<Duration> timeout) {
  if (impl_ == nullptr) return not_open();
  auto state = impl_->accept(timeout);
  if (!state) return tl::unexpected(state.error());
  return Connection(std::move(*state));
}

Result<Connection> Endpoint::connect_async(const SocketAddress& remote,
                                           const ConnectOptions& options) {
  if (impl_ == nullptr) return not_open();
  auto state = impl_->connect(remote, options, true);
  if (!state) return tl::unexpected(state.error());
  return Connection(std::move(*state));
}

Result<Connection> Endpoint::connect(const SocketAddress& remote, const ConnectOptions& options) {
  if (impl_ == nullptr) return not_open();
  auto state = impl_->connect(remote, options, false);
  if (!state) return tl::unexpected(state.error());
  Connection connection(std::move(*state));
  if (auto connected = connection.wait_connected(); !connected) {
    return tl::unexpected(connected.error());
  }
  return connection;
}

Result<Region> Endpoint::register_memory(void* data, std::uint64_t bytes, MemoryKind kind) {
  if (impl_ == nullptr) return not_open();
  return impl_->register_memory(data, bytes, kind);
}

Result<void> Endpoint::unregister_memory(Region region) {
  return impl_ == nullptr ? not_open() : impl_->unregister_memory(region);
}

std::size_t Endpoint::poll(std::span<Completion> out) {
  return impl_ == nullptr ? 0 : impl_->poll(out);
}

int Endpoint::completion_fd() const noexcept {
  return impl_ == nullptr ? -1 : impl_->completion_fd();
}

bool Endpoint::run_once() {
  return impl_ != nullptr && impl_->run_once();
}

Result<EndpointStats> Endpoint::stats(Duration timeout) const {
  if (impl_ == nullptr) return not_open();
  return impl_->stats(timeout);
}

Result<void> Endpoint::dump(const std::function<void(std::string_view)>& sink,
                            Duration timeout) const {
  return impl_ == nullptr ? not_open() : impl_->dump(sink, timeout);
}

void Endpoint::close() {
  if (impl_ != nullptr) impl_->close();
}

}  // namespace longhaul
