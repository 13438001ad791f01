// SPDX-License-Identifier: Apache-2.0
// What the layers above ask of transfers and connections, and what they are told. Plain data.
// Identifiers are chosen by the asker (the API), so that nobody waits for an answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "longhaul/address.hpp"
#include "longhaul/status.hpp"
#include "longhaul/tensor.hpp"
#include "longhaul/time.hpp"
#include "longhaul/transfer.hpp"

namespace longhaul::transfer {

/// Chosen by the API; never reused within an endpoint; 0 is none.
using ConnectionId = std::uint64_t;
using TransferId = std::uint64_t;

struct ConnectRequest {
  ConnectionId connection = 0;
  SocketAddress remote;
  Duration timeout{};
};

/// One contiguous piece of tensor memory.
struct SendSegment {
  std::span<const std::byte> bytes;
  Dtype dtype = Dtype::u8;
  Shape shape;
};
struct ReceiveSegment {
  std::span<std::byte> bytes;
  Dtype dtype = Dtype::u8;
  Shape shape;
};

struct SendRequest {
  ConnectionId connection = 0;
  TransferId transfer = 0;
  Tag tag = 0;
  std::vector<SendSegment> segments;  ///< more than one: a list, moved as one transfer
  SendOptions options;
};

struct ReceiveRequest {
  ConnectionId connection = 0;
  TransferId transfer = 0;
  Tag tag = 0;
  std::vector<ReceiveSegment> segments;
  ReceiveOptions options;
};

/// A connection changed: it opened (status completed), its peer has another address (`moved`,
/// status pending), or it ended (any other terminal status). Or there is none: a client that did
/// not prove who it is was `refused`.
struct ConnectionEvent {
  enum class Kind : std::uint8_t { connected, incoming, moved, disconnected, refused };
  Kind kind = Kind::connected;
  ConnectionId connection = 0;  ///< for `incoming`: chosen by the core, with the top bit set
  Status status = Status::pending;
  SocketAddress remote;
  ErrorCode error = ErrorCode::internal;  ///< of a failed connect
  std::string reason;
};

/// A transfer ended. Its memory is referenced by nothing any more.
struct TransferEvent {
  ConnectionId connection = 0;
  TransferId transfer = 0;
  Tag tag = 0;
  std::uint64_t cookie = 0;
  Status status = Status::pending;
  std::uint64_t bytes = 0;
  std::string reason;
  std::vector<ByteRange> received;  ///< completed_partial only
};

/// A range of a receive with `piece_events` was placed or verified.
struct PieceEvent {
  ConnectionId connection = 0;
  TransferId transfer = 0;
  Tag tag = 0;
  std::uint64_t cookie = 0;
  bool verified = false;
  ByteRange range;
};

/// How far a transfer has come; at most one a transfer and drain.
struct ProgressEvent {
  TransferId transfer = 0;
  std::uint64_t placed = 0;
  std::uint64_t verified = 0;
};

using Event = std::variant<ConnectionEvent, TransferEvent, PieceEvent, ProgressEvent>;

/// Connections that the core numbers itself (incoming ones) have this bit set.
inline constexpr ConnectionId kIncomingBit = ConnectionId{1} << 63;

}  // namespace longhaul::transfer
