// SPDX-License-Identifier: Apache-2.0
// The core's messages under the name of the core's face.
#pragma once

#include "lib/transfer/messages.hpp"

namespace longhaul::endpoint {

using transfer::ConnectionEvent;
using transfer::ConnectionId;
using transfer::ConnectRequest;
using transfer::Event;
using transfer::kIncomingBit;
using transfer::PieceEvent;
using transfer::ProgressEvent;
using transfer::ReceiveRequest;
using transfer::ReceiveSegment;
using transfer::SendRequest;
using transfer::SendSegment;
using transfer::TransferEvent;
using transfer::TransferId;

}  // namespace longhaul::endpoint
