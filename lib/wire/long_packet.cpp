// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lib/base/byte_reader.hpp"
#include "lib/base/byte_writer.hpp"
#include "lib/wire/packet.hpp"

namespace longhaul::wire {
namespace {

std::uint8_t first_byte(LongType type, unsigned reserved) noexcept {
  return static_cast<std::uint8_t>(0x80 | static_cast<unsigned>(type) << 4 | (reserved & 0xf));
}

bool carries_integrity(LongType type) noexcept {
  return type == LongType::initial || type == LongType::retry || type == LongType::accept;
}

std::uint32_t integrity_of(std::span<const std::byte> packet, std::size_t header_size) noexcept {
  return crc32c(packet.first(header_size), packet.subspan(header_size + kCrcBytes));
}

}  // namespace

std::size_t write_long_packet(const LongHeader& header, std::span<const std::byte> frames,
                              std::span<std::byte> out) noexcept {
  if (!carries_integrity(header.type) || header.token.size() > kTokenBytesMax) return 0;
  base::ByteWriter writer(out);
  writer.u8(first_byte(header.type, header.reserved));
  writer.u32(header.version);
  writer.u32(header.destination_id);
  writer.u32(header.source_id);
  writer.u64(header.attempt);
  writer.u32(header.number);
  writer.u16(static_cast<std::uint16_t>(header.token.size()));
  writer.bytes(header.token);
  const std::size_t header_size = writer.written();
  writer.u32(0);
  writer.bytes(frames);
  if (writer.failed()) return 0;
  const std::size_t size = writer.written();
  base::ByteWriter(out.subspan(header_size)).u32(integrity_of(out.first(size), header_size));
  return size;
}

std::optional<LongPeek> peek_long(std::span<const std::byte> packet) noexcept {
  base::ByteReader reader(packet);
  const std::uint8_t first = reader.u8();
  if ((first & 0x80) == 0) return std::nullopt;
  LongPeek peek;
  peek.type = static_cast<LongType>(first >> 4 & 7);
  peek.version = reader.u32();
  peek.destination_id = reader.u32();
  peek.source_id = reader.u32();
  peek.attempt = reader.u64();
  if (reader.failed()) return std::nullopt;
  return peek;
}

std::optional<LongPacket> read_long_packet(std::span<const std::byte> packet,
                                           LongError& error) noexcept {
  error = LongError::malformed;
  const auto peek = peek_long(packet);
  if (!peek || peek->version == 0) return std::nullopt;
  if (peek->version != kVersion) {
    error = LongError::unknown_version;
    return std::nullopt;
  }
  if (!carries_integrity(peek->type)) return std::nullopt;
  LongPacket result;
  LongHeader& header = result.header;
  header.type = peek->type;
  header.reserved = std::to_integer<std::uint8_t>(packet[0]) & 0xf;
  header.version = peek->version;
  header.destination_id = peek->destination_id;
  header.source_id = peek->source_id;
  header.attempt = peek->attempt;
  base::ByteReader reader(packet);
  reader.bytes(kLongPeekBytes);
  header.number = reader.u32();
  const std::size_t token_size = reader.u16();
  if (token_size > kTokenBytesMax) return std::nullopt;
  header.token = reader.bytes(token_size);
  const std::size_t header_size = packet.size() - reader.remaining();
  const std::uint32_t integrity = reader.u32();
  if (reader.failed()) return std::nullopt;
  if (integrity != integrity_of(packet, header_size)) {
    error = LongError::integrity;
    return std::nullopt;
  }
  result.frames = reader.rest();
  return result;
}

std::size_t write_version_negotiation(std::uint32_t destination_id, std::uint64_t attempt,
                                      std::span<const std::uint32_t> versions,
                                      std::span<std::byte> out) noexcept {
  if (versions.size() > 255) return 0;
  base::ByteWriter writer(out);
  writer.u8(first_byte(LongType::version_negotiation, 0));
  writer.u32(0);
  writer.u32(destination_id);
  writer.u32(0);
  writer.u64(attempt);
  writer.u8(static_cast<std::uint8_t>(versions.size()));
  for (const std::uint32_t version : versions) writer.u32(version);
  return writer.failed() ? 0 : writer.written();
}

std::optional<std::vector<std::uint32_t>> read_version_negotiation(
    std::span<const std::byte> packet) {
  const auto peek = peek_long(packet);
  if (!peek || peek->type != LongType::version_negotiation || peek->version != 0) {
    return std::nullopt;
  }
  base::ByteReader reader(packet);
  reader.bytes(kLongPeekBytes);
  const std::size_t count = reader.u8();
  if (reader.failed() || reader.remaining() < count * 4) return std::nullopt;
  std::vector<std::uint32_t> versions(std::min(count, kVersionsMax));
  for (std::uint32_t& version : versions) version = reader.u32();
  return versions;
}

}  // namespace longhaul::wire
