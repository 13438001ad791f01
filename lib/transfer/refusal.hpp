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

}  // namespace longhaul::transfer
