// SPDX-License-Identifier: Apache-2.0
// One struct per frame; README.md has the bytes. Spans and strings are borrowed from the packet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "longhaul/status.hpp"
#include "longhaul/tensor.hpp"

namespace longhaul::wire {

struct Ping {};

/// Numbers [first, first + length) of a space that have not been received.
struct Gap {
  std::uint64_t first = 0;
  std::uint64_t length = 0;
  friend bool operator==(const Gap&, const Gap&) = default;
};

struct Ack {
  std::uint16_t space = 0;
  std::uint64_t floor = 0;
  std::uint64_t largest = 0;  ///< ≥ floor
  std::uint64_t largest_delay_us = 0;
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::uint64_t ce = 0;
  std::uint64_t lateness_us = 0;
  bool largest_is_newest = false;
  std::vector<Gap> gaps;  ///< ascending, disjoint, not touching, inside [floor, largest]
};

struct Floor {
  std::uint16_t space = 0;
  std::uint64_t floor = 0;
};

struct ConnectionClose {
  std::uint16_t code = 0;
  std::uint8_t frame_type = 0;
  std::string_view reason;  ///< at most 255 bytes are written
};
enum class CloseCode : std::uint16_t {
  no_error = 0,
  protocol_violation = 1,
  internal = 2,
  refused = 3,
  version = 4,
  budget = 5,
  idle = 6,
};

struct PathChallenge {
  std::uint64_t data = 0;
};
struct PathResponse {
  std::uint64_t data = 0;
};

struct Handshake {
  std::uint64_t offset = 0;
  std::span<const std::byte> data;
};

struct TransportParametersFrame {
  std::span<const std::byte> encoded;
};

struct Transfer {
  std::uint32_t alias = 0;
  std::uint64_t tag = 0;
  std::uint64_t n = 0;
  std::uint64_t bytes = 0;
  bool growing = false;
  bool list = false;
  bool eager = false;
  TrafficClass traffic_class = TrafficClass::bulk;
  Reliability reliability = Reliability::exact;
  std::uint64_t loss_budget = 0;
  std::uint8_t piece_log2 = 16;
  std::uint64_t schema = 0;
  std::uint64_t count = 1;
  Dtype dtype = Dtype::u8;
  Shape shape;
};

struct Layout {
  std::uint32_t alias = 0;
  std::uint8_t layout = 0;
  std::uint32_t chunk_size = 0;  ///< ≥ 1
  std::uint64_t first = 0;
  std::uint64_t length = 0;
};

struct Posted {
  std::uint64_t tag = 0;
  std::uint64_t n = 0;
  std::uint64_t bytes = 0;
  std::uint64_t schema = 0;
};

struct SendEnd {
  std::uint64_t tag = 0;
  std::uint64_t n = 0;
  Status status = Status::pending;
  std::string_view reason;
};

struct ReceiveEnd {
  std::uint64_t tag = 0;
  std::uint64_t n = 0;
  Status status = Status::pending;
  std::uint64_t bytes = 0;
  std::string_view reason;
};

struct Refetch {
  std::uint64_t tag = 0;
  std::uint64_t n = 0;
  std::uint64_t first = 0;
  std::uint64_t length = 0;
};

struct AllSent {
  std::uint64_t tag = 0;
  std::uint64_t n = 0;
};

using Frame = std::variant<Ping, Ack, Floor, ConnectionClose, PathChallenge, PathResponse,
                           Handshake, TransportParametersFrame, Transfer, Layout, Posted, SendEnd,
                           ReceiveEnd, Refetch, AllSent>;

/// Writes one frame to the front of `out`; returns its size, 0 if it does not fit (nothing useful
/// is then in `out`).
std::size_t write_frame(const Frame& frame, std::span<std::byte> out) noexcept;

/// Walks the frames of a packet. Unknown optional frames are skipped.
class FrameReader {
 public:
  explicit FrameReader(std::span<const std::byte> frames) noexcept : rest_(frames) {}
  /// Next frame, or nullopt at the end or on an error (`failed()` tells which).
  std::optional<Frame> next();
  bool failed() const noexcept { return failed_; }

 private:
  std::span<const std::byte> rest_;
  bool failed_ = false;
};

/// How many gaps, taken in order, fit an ACK frame of at most `room` bytes; writes the ACK over the
/// longest closed interval [ack.floor, x] whose gaps fit (x = ack.largest when all do) and returns
/// the frame's size; `covered` becomes x. 0 if nothing fits. Splitting a long report is the
/// caller's loop: next floor = covered + 1.
std::size_t write_ack_prefix(const Ack& ack, std::span<std::byte> out,
                             std::uint64_t& covered) noexcept;

/// schema of README.md: hash over dtypes and extents of a list.
class SchemaHash {
 public:
  void add(Dtype dtype, const Shape& shape);
  std::uint64_t value() const noexcept;

 private:
  std::vector<std::byte> bytes_;
};

struct TransportParameters {
  std::uint32_t max_datagram = 65507;
  std::uint32_t peer_timeout_ms = 2000;
  std::uint32_t heartbeat_ms = 400;
  std::uint64_t eager_budget = 0;
  std::uint32_t eager_max = 0;
  std::uint32_t transfers_max = 1024;
  std::optional<std::array<std::byte, 16>> reset_token;
  bool reference_payload = false;
  friend bool operator==(const TransportParameters&, const TransportParameters&) = default;
};

/// Returns bytes written, 0 if `out` is too small.
std::size_t write_transport_parameters(const TransportParameters& parameters,
                                       std::span<std::byte> out) noexcept;
std::optional<TransportParameters> read_transport_parameters(std::span<const std::byte> encoded);

}  // namespace longhaul::wire
