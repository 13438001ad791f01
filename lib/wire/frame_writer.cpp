// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lib/base/byte_writer.hpp"
#include "lib/wire/frame.hpp"

namespace longhaul::wire {
namespace {

using base::ByteWriter;
using base::kVarintMax;

// The type of a frame is a function of its struct alone.
constexpr FrameType type_of(const Ping&) {
  return FrameType::ping;
}
constexpr FrameType type_of(const Ack&) {
  return FrameType::ack;
}
constexpr FrameType type_of(const Floor&) {
  return FrameType::floor;
}
constexpr FrameType type_of(const ConnectionClose&) {
  return FrameType::connection_close;
}
constexpr FrameType type_of(const PathChallenge&) {
  return FrameType::path_challenge;
}
constexpr FrameType type_of(const PathResponse&) {
  return FrameType::path_response;
}
constexpr FrameType type_of(const Handshake&) {
  return FrameType::handshake;
}
constexpr FrameType type_of(const TransportParametersFrame&) {
  return FrameType::transport_parameters;
}
constexpr FrameType type_of(const Transfer&) {
  return FrameType::transfer;
}
constexpr FrameType type_of(const Layout&) {
  return FrameType::layout;
}
constexpr FrameType type_of(const Posted&) {
  return FrameType::posted;
}
constexpr FrameType type_of(const SendEnd&) {
  return FrameType::send_end;
}
constexpr FrameType type_of(const ReceiveEnd&) {
  return FrameType::receive_end;
}
constexpr FrameType type_of(const Refetch&) {
  return FrameType::refetch;
}
constexpr FrameType type_of(const AllSent&) {
  return FrameType::all_sent;
}

void put_reason(ByteWriter& writer, std::string_view reason) noexcept {
  if (reason.size() > kReasonBytesMax) {
    std::size_t cut = kReasonBytesMax;
    // Bytes 10xxxxxx continue a character of UTF-8; not more than three do.
    for (int i = 0; i < 3 && (static_cast<unsigned char>(reason[cut]) & 0xc0) == 0x80; ++i) --cut;
    reason = reason.substr(0, cut);
  }
  writer.u8(static_cast<std::uint8_t>(reason.size()));
  writer.bytes(std::as_bytes(std::span(reason)));
}

void put_body(ByteWriter&, const Ping&) noexcept {}

void put_body(ByteWriter& writer, const Ack& ack) noexcept {
  writer.u16(ack.space);
  writer.varint(ack.floor);
  writer.varint(ack.largest - ack.floor);
  writer.varint(ack.largest_delay_us);
  writer.varint(ack.packets);
  writer.varint(ack.bytes);
  writer.varint(ack.ce);
  writer.varint(ack.lateness_us);
  writer.varint(ack.gaps.size());
  std::uint64_t named = ack.floor;
  for (const Gap& gap : ack.gaps) {
    writer.varint(gap.first - named);
    writer.varint(gap.length);
    named = gap.first + gap.length;
  }
  writer.u8(ack.largest_is_newest ? 1 : 0);
}

void put_body(ByteWriter& writer, const Floor& frame) noexcept {
  writer.u16(frame.space);
  writer.u64(frame.floor);
}

void put_body(ByteWriter& writer, const ConnectionClose& frame) noexcept {
  writer.u16(frame.code);
  writer.u8(frame.frame_type);
  put_reason(writer, frame.reason);
}

void put_body(ByteWriter& writer, const PathChallenge& frame) noexcept {
  writer.u64(frame.data);
}

void put_body(ByteWriter& writer, const PathResponse& frame) noexcept {
  writer.u64(frame.data);
}

void put_body(ByteWriter& writer, const Handshake& frame) noexcept {
  writer.varint(frame.offset);
  writer.varint(frame.received);
  writer.bytes(frame.data);
}

void put_body(ByteWriter& writer, const TransportParametersFrame& frame) noexcept {
  writer.bytes(frame.encoded);
}

void put_body(ByteWriter& writer, const Transfer& frame) noexcept {
  writer.u24(frame.alias);
  writer.u64(frame.tag);
  writer.varint(frame.n);
  writer.varint(frame.bytes);
  writer.u8(static_cast<std::uint8_t>((frame.growing ? 1 : 0) | (frame.list ? 2 : 0) |
                                      (frame.eager ? 4 : 0)));
  writer.u8(static_cast<std::uint8_t>(frame.traffic_class));
  writer.u8(static_cast<std::uint8_t>(frame.reliability));
  writer.varint(std::min(frame.loss_budget, kVarintMax));
  writer.u8(frame.piece_log2);
  writer.u64(frame.schema);
  writer.varint(frame.count);
  writer.u8(static_cast<std::uint8_t>(frame.dtype));
  writer.u8(static_cast<std::uint8_t>(frame.shape.extents().size()));
  for (const std::uint64_t extent : frame.shape.extents()) {
    writer.varint(std::min(extent, kVarintMax));
  }
}

void put_body(ByteWriter& writer, const Layout& frame) noexcept {
  writer.u24(frame.alias);
  writer.u8(frame.layout);
  writer.u32(frame.chunk_size);
  writer.varint(frame.first);
  writer.varint(frame.length);
}

void put_body(ByteWriter& writer, const Posted& frame) noexcept {
  writer.u64(frame.tag);
  writer.varint(frame.n);
  writer.varint(frame.bytes);
  writer.u64(frame.schema);
}

void put_body(ByteWriter& writer, const SendEnd& frame) noexcept {
  writer.u64(frame.tag);
  writer.varint(frame.n);
  writer.u8(static_cast<std::uint8_t>(frame.status));
  put_reason(writer, frame.reason);
}

void put_body(ByteWriter& writer, const ReceiveEnd& frame) noexcept {
  writer.u64(frame.tag);
  writer.varint(frame.n);
  writer.u8(static_cast<std::uint8_t>(frame.status));
  writer.varint(frame.bytes);
  put_reason(writer, frame.reason);
}

void put_body(ByteWriter& writer, const Refetch& frame) noexcept {
  writer.u64(frame.tag);
  writer.varint(frame.n);
  writer.varint(frame.first);
  writer.varint(frame.length);
}

void put_body(ByteWriter& writer, const AllSent& frame) noexcept {
  writer.u64(frame.tag);
  writer.varint(frame.n);
}

template <typename T>
std::size_t put_frame(const T& frame, std::span<std::byte> out) noexcept {
  ByteWriter writer(out.first(std::min(out.size(), kFrameHeaderBytes + kFrameBodyMax)));
  writer.u8(static_cast<std::uint8_t>(type_of(frame)));
  writer.u16(0);
  put_body(writer, frame);
  if (writer.failed()) return 0;
  const std::size_t body = writer.written() - kFrameHeaderBytes;
  ByteWriter(out.subspan(1)).u16(static_cast<std::uint16_t>(body));
  return writer.written();
}

// Body bytes of an ACK but for span, gap count and gaps.
std::size_t fixed_ack_bytes(const Ack& ack) noexcept {
  std::size_t size = 2 + 1;
  for (const std::uint64_t value :
       {ack.floor, ack.largest_delay_us, ack.packets, ack.bytes, ack.ce, ack.lateness_us}) {
    size += ByteWriter::varint_size(value);
  }
  return size;
}

}  // namespace

FrameType type_of(const Frame& frame) noexcept {
  return std::visit([](const auto& alternative) { return type_of(alternative); }, frame);
}

std::size_t write_frame(const Frame& frame, std::span<std::byte> out) noexcept {
  return std::visit([out](const auto& alternative) { return put_frame(alternative, out); }, frame);
}

std::size_t write_ack_prefix(const Ack& ack, std::span<std::byte> out,
                             std::uint64_t& covered) noexcept {
  const std::size_t room = std::min(out.size(), kFrameHeaderBytes + kFrameBodyMax);
  const std::size_t fixed = kFrameHeaderBytes + fixed_ack_bytes(ack);
  std::size_t gap_bytes = 0;
  std::uint64_t named = ack.floor;
  Ack prefix = ack;
  bool fits = false;
  // A prefix ends just before the first gap it leaves out. Sizes only grow with the number of gaps.
  for (std::size_t taken = 0; taken <= ack.gaps.size(); ++taken) {
    const bool all = taken == ack.gaps.size();
    const std::uint64_t end = all ? ack.largest + 1 : ack.gaps[taken].first;
    if (end > ack.floor) {
      const std::size_t size = fixed + ByteWriter::varint_size(end - 1 - ack.floor) +
                               ByteWriter::varint_size(taken) + gap_bytes;
      if (size > room) break;
      fits = true;
      prefix.largest = end - 1;
      prefix.gaps = ack.gaps.first(taken);
    }
    if (all) break;
    const Gap& gap = ack.gaps[taken];
    gap_bytes += ByteWriter::varint_size(gap.first - named) + ByteWriter::varint_size(gap.length);
    named = gap.first + gap.length;
  }
  if (!fits) return 0;
  prefix.largest_is_newest = ack.largest_is_newest && prefix.largest == ack.largest;
  covered = prefix.largest;
  return put_frame(prefix, out);
}

}  // namespace longhaul::wire
