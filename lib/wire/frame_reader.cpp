// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lib/base/byte_reader.hpp"
#include "lib/wire/frame.hpp"

namespace longhaul::wire {
namespace {

using base::ByteReader;

// Each `take` reads a body; false if a value cannot be. Underflow is judged by the caller, so a
// value read from missing bytes (0) may be judged first; either way the frame is malformed.

std::string_view reason(ByteReader& body) noexcept {
  const auto bytes = body.bytes(body.u8());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The numbers up to `internal` are all taken.
bool take_status(ByteReader& body, Status& status) noexcept {
  const std::uint8_t number = body.u8();
  status = static_cast<Status>(number);
  return is_terminal(status) && number <= static_cast<std::uint8_t>(Status::internal);
}

bool take(ByteReader&, Ping&) noexcept {
  return true;
}

bool take_gaps(ByteReader& body, std::size_t count, const Ack& ack, std::vector<Gap>& gaps) {
  std::uint64_t named = ack.floor;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t skip = body.varint();
    const Gap gap{named + skip, body.varint()};
    if (body.failed() || gap.length == 0 || (i > 0 && skip == 0)) return false;
    named = gap.first + gap.length;  // three numbers below 2^62: no overflow
    if (named > ack.largest + 1) return false;
    gaps.push_back(gap);
  }
  return true;
}

bool take(ByteReader& body, Ack& ack, std::vector<Gap>& gaps) {
  ack.space = body.u16();
  ack.floor = body.varint();
  ack.largest = ack.floor + body.varint();
  ack.largest_delay_us = body.varint();
  ack.packets = body.varint();
  ack.bytes = body.varint();
  ack.ce = body.varint();
  ack.lateness_us = body.varint();
  const std::uint64_t count = body.varint();
  gaps.clear();
  // A gap takes two bytes at least: a count beyond that is a lie and must not cost memory.
  if (ack.largest > kPacketNumberMax || count > body.remaining() / 2) return false;
  gaps.reserve(static_cast<std::size_t>(count));
  if (!take_gaps(body, static_cast<std::size_t>(count), ack, gaps)) return false;
  ack.gaps = gaps;
  ack.largest_is_newest = (body.u8() & 1) != 0;
  const bool largest_missing =
      !gaps.empty() && gaps.back().first + gaps.back().length > ack.largest;
  return !(ack.largest_is_newest && largest_missing);
}

bool take(ByteReader& body, Floor& frame) noexcept {
  frame.space = body.u16();
  frame.floor = body.u64();
  return true;
}

bool take(ByteReader& body, ConnectionClose& frame) noexcept {
  frame.code = body.u16();
  frame.frame_type = body.u8();
  frame.reason = reason(body);
  return true;
}

bool take(ByteReader& body, PathChallenge& frame) noexcept {
  frame.data = body.u64();
  return true;
}

bool take(ByteReader& body, PathResponse& frame) noexcept {
  frame.data = body.u64();
  return true;
}

bool take(ByteReader& body, Handshake& frame) noexcept {
  frame.offset = body.varint();
  frame.received = body.varint();
  frame.data = body.rest();
  return true;
}

bool take(ByteReader& body, TransportParametersFrame& frame) noexcept {
  frame.encoded = body.rest();
  return true;
}

bool take_shape(ByteReader& body, Shape& shape) {
  std::array<std::uint64_t, kDimensionsMax> extents{};
  const std::size_t dimensions = body.u8();
  if (dimensions > extents.size()) return false;
  for (std::size_t i = 0; i < dimensions; ++i) extents[i] = body.varint();
  shape = *Shape::from(std::span(extents).first(dimensions));
  return true;
}

bool take(ByteReader& body, Transfer& frame) {
  frame.alias = body.u24();
  frame.tag = body.u64();
  frame.n = body.varint();
  frame.bytes = body.varint();
  const std::uint8_t flags = body.u8();
  frame.growing = (flags & 1) != 0;
  frame.list = (flags & 2) != 0;
  frame.eager = (flags & 4) != 0;
  frame.traffic_class = static_cast<TrafficClass>(body.u8());
  frame.reliability = static_cast<Reliability>(body.u8());
  frame.loss_budget = body.varint();
  frame.piece_log2 = body.u8();
  frame.schema = body.u64();
  frame.count = body.varint();
  frame.dtype = static_cast<Dtype>(body.u8());
  if (frame.traffic_class > TrafficClass::scavenger ||
      frame.reliability > Reliability::best_effort || element_size(frame.dtype) == 0 ||
      frame.piece_log2 > kPieceLog2Max || frame.count == 0) {
    return false;
  }
  // The digest groups of the transfer must have numbers.
  if (frame.bytes > 0 &&
      (frame.bytes - 1) >> frame.piece_log2 > kPiecesPerGroup * (kChunkIndexMax + 1ULL) - 1) {
    return false;
  }
  return take_shape(body, frame.shape);
}

bool take(ByteReader& body, Layout& frame) noexcept {
  frame.alias = body.u24();
  frame.layout = body.u8();
  frame.chunk_size = body.u32();
  frame.first = body.varint();
  frame.length = body.varint();
  return frame.chunk_size > 0 &&
         (frame.length == 0 || (frame.length - 1) / frame.chunk_size <= kChunkIndexMax);
}

bool take(ByteReader& body, Posted& frame) noexcept {
  frame.tag = body.u64();
  frame.n = body.varint();
  frame.bytes = body.varint();
  frame.schema = body.u64();
  return true;
}

bool take(ByteReader& body, SendEnd& frame) noexcept {
  frame.tag = body.u64();
  frame.n = body.varint();
  const bool known = take_status(body, frame.status);
  frame.reason = reason(body);
  return known;
}

bool take(ByteReader& body, ReceiveEnd& frame) noexcept {
  frame.tag = body.u64();
  frame.n = body.varint();
  const bool known = take_status(body, frame.status);
  frame.bytes = body.varint();
  frame.reason = reason(body);
  return known;
}

bool take(ByteReader& body, Refetch& frame) noexcept {
  frame.tag = body.u64();
  frame.n = body.varint();
  frame.first = body.varint();
  frame.length = body.varint();
  return true;
}

bool take(ByteReader& body, AllSent& frame) noexcept {
  frame.tag = body.u64();
  frame.n = body.varint();
  return true;
}

template <typename T, typename... Extra>
std::optional<Frame> parse(std::span<const std::byte> bytes, Extra&... extra) {
  ByteReader body(bytes);
  std::optional<Frame> frame(std::in_place, T{});
  if (!take(body, std::get<T>(*frame), extra...) || body.failed()) return std::nullopt;
  return frame;
}

std::optional<Frame> parse_transfer_frame(FrameType type, std::span<const std::byte> body) {
  switch (type) {
    case FrameType::transfer:
      return parse<Transfer>(body);
    case FrameType::layout:
      return parse<Layout>(body);
    case FrameType::posted:
      return parse<Posted>(body);
    case FrameType::send_end:
      return parse<SendEnd>(body);
    case FrameType::receive_end:
      return parse<ReceiveEnd>(body);
    case FrameType::refetch:
      return parse<Refetch>(body);
    case FrameType::all_sent:
      return parse<AllSent>(body);
    default:
      return std::nullopt;
  }
}

std::optional<Frame> parse_frame(FrameType type, std::span<const std::byte> body,
                                 std::vector<Gap>& gaps) {
  switch (type) {
    case FrameType::ping:
      return parse<Ping>(body);
    case FrameType::ack:
      return parse<Ack>(body, gaps);
    case FrameType::floor:
      return parse<Floor>(body);
    case FrameType::connection_close:
      return parse<ConnectionClose>(body);
    case FrameType::path_challenge:
      return parse<PathChallenge>(body);
    case FrameType::path_response:
      return parse<PathResponse>(body);
    case FrameType::handshake:
      return parse<Handshake>(body);
    case FrameType::transport_parameters:
      return parse<TransportParametersFrame>(body);
    default:
      return parse_transfer_frame(type, body);
  }
}

}  // namespace

std::optional<Frame> FrameReader::next() {
  ByteReader reader(rest_);
  while (reader.remaining() > 0) {
    const std::uint8_t type = reader.u8();
    if (type == static_cast<std::uint8_t>(FrameType::padding)) break;
    const auto body = reader.bytes(reader.u16());
    if (!reader.failed() && (type & kOptionalFrameBit) != 0) continue;  // none is known yet
    std::optional<Frame> frame;
    if (!reader.failed()) frame = parse_frame(static_cast<FrameType>(type), body, *gaps_);
    failed_ = !frame.has_value();
    rest_ = failed_ ? std::span<const std::byte>{} : reader.rest();
    return frame;
  }
  rest_ = {};
  return std::nullopt;
}

}  // namespace longhaul::wire
