// SPDX-License-Identifier: Apache-2.0
// One struct per frame; README.md has the bytes. Spans and strings are borrowed from the packet.
// Numbers marked v there end at 2^62 − 1; a frame with a larger one is not written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/wire/constants.hpp"
#include "longhaul/status.hpp"
#include "longhaul/tensor.hpp"

namespace longhaul::wire {

enum class FrameType : std::uint8_t {
  padding = 0,
  ping = 1,
  ack = 2,
  floor = 3,
  connection_close = 4,
  path_challenge = 5,
  path_response = 6,
  handshake = 7,
  transport_parameters = 8,
  transfer = 16,
  layout = 17,
  posted = 18,
  send_end = 19,
  receive_end = 20,
  refetch = 21,
  all_sent = 22,
};
/// Unknown frame types with this bit are skipped, others make the packet malformed.
inline constexpr std::uint8_t kOptionalFrameBit = 0x80;
/// Type and body length in front of every frame but padding.
inline constexpr std::size_t kFrameHeaderBytes = 3;
inline constexpr std::size_t kFrameBodyMax = 65535;
inline constexpr std::size_t kReasonBytesMax = 255;

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
  /// Ascending, disjoint, not touching, inside [floor, largest]. Borrowed: from the reader's
  /// scratch until its following `next()`.
  std::span<const Gap> gaps{};
};

struct Floor {
  std::uint16_t space = 0;
  std::uint64_t floor = 0;
};

struct ConnectionClose {
  std::uint16_t code = 0;
  std::uint8_t frame_type = 0;
  std::string_view reason{};  ///< the first kReasonBytesMax bytes are written, whole characters
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

/// Bytes of the TLS stream of the sender, and how many of the receiver's it has without a gap.
struct Handshake {
  std::uint64_t offset = 0;
  std::uint64_t received = 0;
  std::span<const std::byte> data{};
};

struct TransportParametersFrame {
  std::span<const std::byte> encoded{};
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
  std::uint64_t loss_budget = 0;  ///< written as 2^62 − 1 when above
  std::uint8_t piece_log2 = 16;   ///< at most kPieceLog2Max
  std::uint64_t schema = 0;
  std::uint64_t count = 1;  ///< ≥ 1
  Dtype dtype = Dtype::u8;
  Shape shape{};  ///< extents above 2^62 − 1 are written as that
};

struct Layout {
  std::uint32_t alias = 0;
  std::uint8_t layout = 0;
  std::uint32_t chunk_size = 0;  ///< ≥ 1
  std::uint64_t first = 0;
  std::uint64_t length = 0;  ///< at most chunk_size × 2^24
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
  std::string_view reason{};
};

struct ReceiveEnd {
  std::uint64_t tag = 0;
  std::uint64_t n = 0;
  Status status = Status::pending;
  std::uint64_t bytes = 0;
  std::string_view reason{};
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

FrameType type_of(const Frame& frame) noexcept;
/// Repeated until a packet that carried it is acknowledged.
constexpr bool is_reliable(FrameType type) noexcept {
  return type >= FrameType::transfer && type <= FrameType::all_sent;
}

/// Writes one frame to the front of `out`; returns its size, 0 if it does not fit (nothing useful
/// is then in `out`) or has a value the format cannot carry. Padding is zero bytes, at the end.
std::size_t write_frame(const Frame& frame, std::span<std::byte> out) noexcept;

/// Walks the frames of a packet. Unknown optional frames are skipped.
class FrameReader {
 public:
  /// The gaps of each ACK go to `gap_scratch`, replacing what is there; it grows to at most half as
  /// many elements as the packet has bytes. It must outlive the frames.
  FrameReader(std::span<const std::byte> frames, std::vector<Gap>& gap_scratch) noexcept
      : rest_(frames), gaps_(&gap_scratch) {}
  /// Next frame, or nullopt at the end or on an error (`failed()` tells which).
  std::optional<Frame> next();
  bool failed() const noexcept { return failed_; }

 private:
  std::span<const std::byte> rest_;
  std::vector<Gap>* gaps_;
  bool failed_ = false;
};

/// Writes as much of an ACK as fits `out`: over the longest closed interval [ack.floor, x] whose
/// gaps fit (x = ack.largest when all do). Returns the frame's size; `covered` becomes x. 0 if
/// nothing fits. Splitting a long report is the caller's loop: next floor = covered + 1, gaps below
/// it dropped. Only the part that holds ack.largest keeps `largest_is_newest`.
std::size_t write_ack_prefix(const Ack& ack, std::span<std::byte> out,
                             std::uint64_t& covered) noexcept;

/// `schema` of README.md: hash over dtypes and extents of a list.
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
  /// The connection ID of the end that says this; only where TLS protects it.
  std::optional<std::uint32_t> connection_id;
  friend bool operator==(const TransportParameters&, const TransportParameters&) = default;
};

/// Returns bytes written, 0 if `out` is too small.
std::size_t write_transport_parameters(const TransportParameters& parameters,
                                       std::span<std::byte> out) noexcept;
/// nullopt if malformed; unknown parameters are ignored.
std::optional<TransportParameters> read_transport_parameters(
    std::span<const std::byte> encoded) noexcept;

}  // namespace longhaul::wire
