// SPDX-License-Identifier: Apache-2.0
#include "lib/endpoint/connection_table.hpp"

#include <algorithm>

namespace longhaul::endpoint {
namespace {

template <typename Map, typename Key>
connection::Connection* lookup(const Map& map, const Key& key) {
  const auto it = map.find(key);
  return it == map.end() ? nullptr : it->second;
}

}  // namespace

connection::Connection& ConnectionTable::insert(
    std::unique_ptr<connection::Connection> connection) {
  connection::Connection& added = *connection;
  const connection::ConnectionConfig& config = added.config();
  by_cid_[config.own_cid] = &added;
  by_id_[config.id] = &added;
  if (config.role == connection::Role::server)
    by_attempt_[{config.remote, config.attempt}] = &added;
  order_.push_back(std::move(connection));
  return added;
}

connection::Connection* ConnectionTable::by_cid(std::uint32_t own_cid) const {
  return lookup(by_cid_, own_cid);
}

connection::Connection* ConnectionTable::by_id(transfer::ConnectionId id) const {
  return lookup(by_id_, id);
}

connection::Connection* ConnectionTable::by_attempt(const SocketAddress& client,
                                                    std::uint64_t attempt) const {
  return lookup(by_attempt_, std::pair{client, attempt});
}

connection::Connection* ConnectionTable::by_peer_cid(const SocketAddress& remote,
                                                     std::uint32_t peer_cid) const {
  const auto it = std::ranges::find_if(order_, [&](const auto& connection) {
    return connection->peer_cid() == peer_cid && connection->remote() == remote;
  });
  return it == order_.end() ? nullptr : it->get();
}

void ConnectionTable::forget(const connection::Connection& connection) {
  const connection::ConnectionConfig& config = connection.config();
  by_cid_.erase(config.own_cid);
  by_id_.erase(config.id);
  if (config.role == connection::Role::server) by_attempt_.erase({config.remote, config.attempt});
}

std::size_t ConnectionTable::remove_done() {
  for (const auto& connection : order_)
    if (connection->done()) forget(*connection);
  return std::erase_if(order_, [](const auto& connection) { return connection->done(); });
}

}  // namespace longhaul::endpoint
