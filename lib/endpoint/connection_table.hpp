// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "lib/connection/connection.hpp"

namespace longhaul::endpoint {

/// The connections of an endpoint, found by what arrives (connection ID, attempt) and by what is
/// asked (ID).
class ConnectionTable {
 public:
  connection::Connection& insert(std::unique_ptr<connection::Connection> connection);

  connection::Connection* by_cid(std::uint32_t own_cid) const;
  connection::Connection* by_id(transfer::ConnectionId id) const;
  /// Server side of an attempt: a repeated initial finds the connection it made.
  connection::Connection* by_attempt(const SocketAddress& client, std::uint64_t attempt) const;
  /// Walks all connections: only for resets, which are rare.
  connection::Connection* by_peer_cid(const SocketAddress& remote, std::uint32_t peer_cid) const;
  bool has_cid(std::uint32_t own_cid) const { return by_cid_.contains(own_cid); }

  std::size_t size() const noexcept { return order_.size(); }
  /// In order of birth, so that equal inputs give equal outputs.
  const std::vector<std::unique_ptr<connection::Connection>>& all() const noexcept {
    return order_;
  }
  /// Removes connections that are done; returns how many.
  std::size_t remove_done();

 private:
  void forget(const connection::Connection& connection);
  std::vector<std::unique_ptr<connection::Connection>> order_;
  tsl::robin_map<std::uint32_t, connection::Connection*> by_cid_;
  tsl::robin_map<transfer::ConnectionId, connection::Connection*> by_id_;
  std::map<std::pair<SocketAddress, std::uint64_t>, connection::Connection*> by_attempt_;
};

}  // namespace longhaul::endpoint
