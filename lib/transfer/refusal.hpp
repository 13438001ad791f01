// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "lib/transfer/messages.hpp"

namespace longhaul::transfer {

/// The event that ends a request (send or receive) which never became a transfer.
template <typename Request>
TransferEvent refusal(const Request& request, Status status, std::string_view reason) {
  TransferEvent event;
  event.connection = request.connection;
  event.transfer = request.transfer;
  event.tag = request.tag;
  event.cookie = request.options.cookie;
  event.status = status;
  for (const auto& segment : request.segments) event.bytes += segment.bytes.size();
  event.reason = reason;
  return event;
}

/// The event about a client that was not let in.
inline ConnectionEvent refused_client(const SocketAddress& remote, std::string_view reason) {
  ConnectionEvent event;
  event.kind = ConnectionEvent::Kind::refused;
  event.status = Status::refused;
  event.remote = remote;
  event.error = ErrorCode::not_authenticated;
  event.reason = reason;
  return event;
}

}  // namespace longhaul::transfer
