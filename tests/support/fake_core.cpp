// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_core.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace longhaul::tests {
namespace {
CoreScript* next_script = nullptr;
}

void use_script(CoreScript& script) {
  next_script = &script;
}

}  // namespace longhaul::tests

namespace longhaul::endpoint {

class Endpoint::Impl {
 public:
  tests::CoreScript& script = *tests::next_script;
};

Endpoint::Endpoint(const EndpointConfig&, const Environment&) : impl_(std::make_unique<Impl>()) {}
Endpoint::~Endpoint() = default;

void Endpoint::listen() {
  impl_->script.calls.push_back("listen");
}
void Endpoint::connect(Timestamp, const ConnectRequest& request) {
  impl_->script.calls.push_back("connect " + std::to_string(request.connection));
}
void Endpoint::send(Timestamp, SendRequest&& request) {
  impl_->script.calls.push_back("send " + std::to_string(request.transfer));
  if (request.options.deadline) impl_->script.deadlines.push_back(*request.options.deadline);
}
void Endpoint::receive(Timestamp, ReceiveRequest&& request) {
  impl_->script.calls.push_back("receive " + std::to_string(request.transfer));
  if (request.options.deadline) impl_->script.deadlines.push_back(*request.options.deadline);
}
void Endpoint::cancel(Timestamp, ConnectionId, TransferId transfer) {
  impl_->script.calls.push_back("cancel " + std::to_string(transfer));
}
void Endpoint::ready(Timestamp, ConnectionId, TransferId transfer, std::uint64_t bytes) {
  impl_->script.calls.push_back("ready " + std::to_string(transfer) + " " + std::to_string(bytes));
}
void Endpoint::close(Timestamp, ConnectionId connection, std::string_view reason) {
  impl_->script.calls.push_back("close " + std::to_string(connection) + " " + std::string(reason));
}
void Endpoint::close_all(Timestamp, std::string_view reason) {
  impl_->script.calls.push_back("close_all " + std::string(reason));
}

void Endpoint::handle_datagrams(Timestamp, std::span<base::RxDatagram> burst) {
  impl_->script.bursts.push_back(burst.size());
  for (const base::RxDatagram& datagram : burst) {
    impl_->script.received.emplace_back(reinterpret_cast<const char*>(datagram.data.data()),
                                        datagram.data.size());
  }
}
void Endpoint::handle_refusals(Timestamp, std::span<const base::Refusal> refused) {
  for (const base::Refusal& refusal : refused) {
    impl_->script.calls.push_back("refused " + std::to_string(refusal.peer.port));
  }
}
Duration Endpoint::shortest_rtt(Timestamp) {
  return impl_->script.shortest_rtt;
}
void Endpoint::handle_too_big(Timestamp, std::span<const base::TooBig> refused) {
  for (const base::TooBig& one : refused)
    impl_->script.calls.push_back("too big " + std::to_string(one.size));
}
bool Endpoint::connecting() {
  return impl_->script.connecting;
}
void Endpoint::handle_timeout(Timestamp) {
  impl_->script.calls.push_back("timeout");
  impl_->script.next_timeout = kNever;
}
std::size_t Endpoint::poll_transmit(Timestamp, std::span<base::TxDatagram> slots) {
  auto& outgoing = impl_->script.outgoing;
  std::size_t filled = 0;
  for (; filled < slots.size() && !outgoing.empty(); ++filled) {
    const tests::CoreScript::Outgoing& next = outgoing.front();
    base::TxDatagram& slot = slots[filled];
    std::memcpy(slot.head.data(), next.head.data(), next.head.size());
    slot.head_size = next.head.size();
    slot.payload = next.payload;
    outgoing.pop_front();
  }
  return filled;
}
std::optional<Event> Endpoint::poll_event() {
  auto& events = impl_->script.events;
  if (events.empty()) return std::nullopt;
  std::optional<Event> event(std::move(events.front()));
  events.pop_front();
  return event;
}
Timestamp Endpoint::next_timeout() const {
  return impl_->script.next_timeout;
}

std::optional<ConnectionStats> Endpoint::connection_stats(ConnectionId) const {
  return std::nullopt;
}
EndpointStats Endpoint::stats() const {
  EndpointStats stats;
  stats.connections = 7;
  return stats;
}
void Endpoint::dump(Timestamp, std::vector<std::string>& lines) const {
  lines.emplace_back("nothing outstanding");
}
std::uint64_t Endpoint::memory_budget(const EndpointConfig&, std::string& arithmetic) {
  arithmetic = "nothing";
  return 0;
}

}  // namespace longhaul::endpoint
