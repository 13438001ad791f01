// SPDX-License-Identifier: Apache-2.0
// The face, requests, and who is served when. Datagrams in: endpoint_datagrams.cpp.
#include "lib/endpoint/endpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "lib/connection/budget.hpp"
#include "lib/crypto/secrets.hpp"
#include "lib/endpoint/endpoint_impl.hpp"
#include "lib/recovery/sent_packets.hpp"
#include "lib/transfer/refusal.hpp"

namespace longhaul::endpoint {
namespace {

constexpr std::string_view kGone = "the connection is closed";
// Looking at every connection takes its time where they are many, and round trips change rarely.
constexpr Duration kRttLookInterval = std::chrono::milliseconds(50);

}  // namespace

Endpoint::Impl::Impl(const EndpointConfig& endpoint_config, const Environment& endpoint_environment)
    : config(endpoint_config),
      environment(endpoint_environment),
      random_(environment.entropy),
      address_validation_(random_.secret().bytes()),
      reset_hash_(config.stateless_reset_key.empty()
                      ? crypto::KeyedHash(random_.secret().bytes())
                      : crypto::KeyedHash(std::string_view(config.stateless_reset_key))) {
  crypto::wipe(std::as_writable_bytes(std::span(config.stateless_reset_key)));
  config.stateless_reset_key.clear();
  environment.entropy = {};
}

wire::ResetToken Endpoint::Impl::reset_token(std::uint32_t cid) const {
  const std::array bytes{static_cast<std::byte>(cid >> 24), static_cast<std::byte>(cid >> 16),
                         static_cast<std::byte>(cid >> 8), static_cast<std::byte>(cid)};
  return reset_hash_(bytes);
}

connection::ConnectionConfig Endpoint::Impl::new_connection(const SocketAddress& remote) {
  connection::ConnectionConfig result;
  do {
    result.own_cid = static_cast<std::uint32_t>(random_.next());
  } while (result.own_cid == 0 || connections.has_cid(result.own_cid));
  result.remote = remote;
  result.reset_token = reset_token(result.own_cid);
  result.entropy = random_.secret();
  result.endpoint = &config;
  result.make_controller = environment.make_controller;
  result.payload_mode = environment.payload_mode;
  result.datagram_max = static_cast<std::uint32_t>(environment.datagram_max);
  result.departure_times = environment.departure_times;
  result.credentials = environment.credentials;
  result.aead_limits = environment.aead_limits;
  return result;
}

void Endpoint::Impl::connect(Timestamp now, const ConnectRequest& request) {
  if (connections.size() >= config.connections_max) {
    ConnectionEvent event;
    event.connection = request.connection;
    event.status = Status::refused;
    event.remote = request.remote;
    event.error = ErrorCode::budget_exceeded;
    event.reason = "connections_max connections are open already; close some or raise it";
    events_.emplace_back(std::move(event));
    return;
  }
  connection::ConnectionConfig made = new_connection(request.remote);
  made.id = request.connection;
  made.role = connection::Role::client;
  made.attempt = random_.next();
  made.connect_timeout = request.timeout;
  connections.insert(std::make_unique<connection::Connection>(made, now, events_, drops));
  connecting_.push_back(made.own_cid);
  note(made.own_cid);
}

bool Endpoint::Impl::connecting() {
  std::erase_if(connecting_, [this](std::uint32_t cid) {
    const connection::Connection* found = connections.by_cid(cid);
    return found == nullptr || !found->connecting();
  });
  return !connecting_.empty();
}

void Endpoint::Impl::handle_refusals(Timestamp now, std::span<const base::Refusal> refused) {
  for (const base::Refusal& refusal : refused) {
    for (const std::uint32_t cid : connecting_) {
      connection::Connection* found = connections.by_cid(cid);
      if (found == nullptr || found->remote() != refusal.peer) continue;
      found->handle_refusal(now, refusal.cause);
      some_done_ = some_done_ || found->done();
      note(cid);
    }
  }
}

// Rare: a path's search asks for a size once. So nothing finds connections by their peer.
void Endpoint::Impl::handle_too_big(Timestamp now, std::span<const base::TooBig> refused) {
  for (const base::TooBig& one : refused) {
    for (const auto& connection : connections.all()) {
      if (connection->remote() != one.peer) continue;
      connection->handle_too_big(now, one.size);
      note(connection->config().own_cid);
    }
  }
}

connection::Connection* Endpoint::Impl::touch(ConnectionId id) {
  connection::Connection* found = connections.by_id(id);
  if (found != nullptr) note(found->config().own_cid);
  return found;
}

void Endpoint::Impl::note(std::uint32_t cid) {
  agenda_.touch(cid);
  if (noted_.empty() || noted_.back() != cid) noted_.push_back(cid);
}

void Endpoint::Impl::send(Timestamp now, SendRequest&& request) {
  connection::Connection* found = touch(request.connection);
  if (found != nullptr && found->is_open())
    found->send(now, std::move(request));
  else
    events_.emplace_back(transfer::refusal(request, Status::closed, kGone));
}

void Endpoint::Impl::receive(Timestamp now, ReceiveRequest&& request) {
  connection::Connection* found = touch(request.connection);
  if (found != nullptr && found->is_open())
    found->receive(now, std::move(request));
  else
    events_.emplace_back(transfer::refusal(request, Status::closed, kGone));
}

void Endpoint::Impl::close_all(Timestamp now, std::string_view reason) {
  for (const auto& connection : connections.all()) {
    connection->close(now, reason);
    note(connection->config().own_cid);
  }
}

void Endpoint::Impl::handle_timeout(Timestamp now) {
  std::uint32_t cid = 0;
  while (agenda_.take_due(now, cid)) {
    connection::Connection* found = connections.by_cid(cid);
    if (found == nullptr) continue;
    found->handle_timeout(now);
    some_done_ = some_done_ || found->done();
    note(cid);
  }
}

std::size_t Endpoint::Impl::poll_transmit(Timestamp now, std::span<base::TxDatagram> slots) {
  std::size_t used = 0;
  const std::uint8_t dscp = config.dscp.codepoints[static_cast<std::size_t>(TrafficClass::control)];
  while (used < slots.size() && !replies_.empty()) replies_.pop_into(now, slots[used++], dscp);
  while (agenda_.has_active() && used < slots.size()) {
    connection::Connection* found = connections.by_cid(agenda_.front());
    if (found == nullptr) {
      agenda_.forget(agenda_.front());
      continue;
    }
    used += found->poll_transmit(now, slots.subspan(used));
    some_done_ = some_done_ || found->done();
    if (used == slots.size()) {
      agenda_.rotate();
      break;
    }
    // Drained: what is due later than now comes back by its time. The microsecond keeps a deadline
    // that asks for nothing from stopping the clock.
    const Timestamp next = found->next_timeout();
    agenda_.settle_front(next <= now ? now + std::chrono::microseconds(1) : next);
  }
  if (some_done_) bury_done(now);
  return used;
}

void Endpoint::Impl::bury_done(Timestamp now) {
  some_done_ = false;
  for (const auto& connection : connections.all()) {
    if (!connection->done()) continue;
    agenda_.forget(connection->config().own_cid);
    // A client that never got through may still be trying, with the same attempt.
    if (connection->config().role == connection::Role::server &&
        connection->stats().packets_received > 0)
      ended_attempts_.add(now, connection->config().attempt);
  }
  connections.remove_done();
}

std::optional<Event> Endpoint::Impl::poll_event() {
  if (!events_.empty()) {
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  Event event;
  while (!noted_.empty()) {
    connection::Connection* found = connections.by_cid(noted_.back());
    if (found != nullptr && found->poll_notification(event)) return event;
    noted_.pop_back();
  }
  return std::nullopt;
}

Duration Endpoint::Impl::shortest_rtt(Timestamp now) {
  if (now < shortest_rtt_until_) return shortest_rtt_;
  shortest_rtt_until_ = now + kRttLookInterval;
  Duration shortest = Duration::max();
  for (const auto& connection : connections.all())
    shortest = std::min(shortest, connection->measured_rtt());
  shortest_rtt_ = connections.size() == 0 ? Duration::zero() : shortest;
  return shortest_rtt_;
}

Timestamp Endpoint::Impl::next_timeout() const {
  return replies_.empty() ? agenda_.next() : Timestamp::min();
}

Endpoint::Endpoint(const EndpointConfig& config, const Environment& environment)
    : impl_(std::make_unique<Impl>(config, environment)) {}
Endpoint::~Endpoint() = default;

void Endpoint::listen() {
  impl_->listening = true;
}
void Endpoint::connect(Timestamp now, const ConnectRequest& request) {
  impl_->connect(now, request);
}
void Endpoint::send(Timestamp now, SendRequest&& request) {
  impl_->send(now, std::move(request));
}
void Endpoint::receive(Timestamp now, ReceiveRequest&& request) {
  impl_->receive(now, std::move(request));
}

void Endpoint::cancel(Timestamp now, ConnectionId connection, TransferId transfer) {
  if (auto* found = impl_->touch(connection)) found->cancel(now, transfer);
}

void Endpoint::ready(Timestamp now, ConnectionId connection, TransferId transfer,
                     std::uint64_t bytes) {
  if (auto* found = impl_->touch(connection)) found->ready(now, transfer, bytes);
}

void Endpoint::close(Timestamp now, ConnectionId connection, std::string_view reason) {
  if (auto* found = impl_->touch(connection)) found->close(now, reason);
}

void Endpoint::close_all(Timestamp now, std::string_view reason) {
  impl_->close_all(now, reason);
}

void Endpoint::handle_datagrams(Timestamp now, std::span<base::RxDatagram> burst) {
  impl_->handle_datagrams(now, burst);
}
void Endpoint::handle_refusals(Timestamp now, std::span<const base::Refusal> refused) {
  impl_->handle_refusals(now, refused);
}
void Endpoint::handle_too_big(Timestamp now, std::span<const base::TooBig> refused) {
  impl_->handle_too_big(now, refused);
}
bool Endpoint::connecting() {
  return impl_->connecting();
}
void Endpoint::handle_timeout(Timestamp now) {
  impl_->handle_timeout(now);
}
std::size_t Endpoint::poll_transmit(Timestamp now, std::span<base::TxDatagram> slots) {
  return impl_->poll_transmit(now, slots);
}
std::optional<Event> Endpoint::poll_event() {
  return impl_->poll_event();
}
Timestamp Endpoint::next_timeout() const {
  return impl_->next_timeout();
}
Duration Endpoint::shortest_rtt(Timestamp now) {
  return impl_->shortest_rtt(now);
}

std::optional<ConnectionStats> Endpoint::connection_stats(ConnectionId connection) const {
  const auto* found = impl_->connections.by_id(connection);
  if (found == nullptr) return std::nullopt;
  return found->stats();
}

EndpointStats Endpoint::stats() const {
  EndpointStats stats;
  stats.connections = static_cast<std::uint32_t>(impl_->connections.size());
  std::string arithmetic;
  stats.memory_budget_bytes = memory_budget(impl_->config, arithmetic);
  stats.dropped = impl_->drops;
  return stats;
}

void Endpoint::dump(Timestamp now, std::vector<std::string>& lines) const {
  for (const auto& connection : impl_->connections.all()) connection->dump(now, lines);
}

std::uint64_t Endpoint::memory_budget(const EndpointConfig& config, std::string& arithmetic) {
  // A connection at the largest window: records of packets in flight, twice for ring doubling,
  // reports of gaps, eager transfers and packets ahead of their announcement. Then what a transfer
  // costs: a send, a posted receive, an announcement without one.
  constexpr std::uint64_t kEarlyStore = 8u << 20;
  constexpr std::uint64_t kPerTransfer = 1536;
  const std::uint64_t bdp = connection::window_bytes(config);
  const std::uint64_t packets = 2 * bdp / config.mtu_base + 256;
  const std::uint64_t records = 4 * packets * sizeof(recovery::SentPacket);
  const std::uint64_t transfers = 3 * std::uint64_t{config.transfers_max} * kPerTransfer;
  const std::uint64_t runs = kTrafficClasses * connection::runs_max(config);
  const std::uint64_t total = records + runs * recovery::ReceiveSpace::kRunBytes +
                              config.eager_budget + kEarlyStore + transfers;
  arithmetic = fmt::format(
      "{} Mbit/s x {} ms = {} MiB in flight; per connection at most {} packet records x {} B, {} "
      "runs received x {} B, {} MiB eager, {} MiB early, {} transfers x {} B = {} MiB",
      connection::planned_rate(config) / 1'000'000,
      std::chrono::duration_cast<std::chrono::milliseconds>(config.rtt_max).count(), bdp >> 20,
      4 * packets, sizeof(recovery::SentPacket), runs, recovery::ReceiveSpace::kRunBytes,
      config.eager_budget >> 20, kEarlyStore >> 20, 3 * std::uint64_t{config.transfers_max},
      kPerTransfer, (total + (1 << 20) - 1) >> 20);
  return total;
}

}  // namespace longhaul::endpoint
