// SPDX-License-Identifier: Apache-2.0
#include "lib/wire/packet.hpp"

#include <algorithm>

#include "lib/base/byte_reader.hpp"
#include "lib/base/byte_writer.hpp"

namespace longhaul::wire {
namespace {

constexpr std::uint8_t first_byte(PacketType type, unsigned phase, unsigned reserved) noexcept {
  return static_cast<std::uint8_t>(static_cast<unsigned>(type) << 4 | (phase & 3) << 2 |
                                   (reserved & 3));
}

// Bits 4 to 6; the form bit must be known to be clear.
constexpr PacketType type_in(std::uint8_t first) noexcept {
  return static_cast<PacketType>(first >> 4);
}

}  // namespace

std::size_t write_short_header(const ShortHeader& header, std::span<std::byte> out) noexcept {
  const std::size_t size = header_bytes(header.type);
  if (size == 0) return 0;
  base::ByteWriter writer(out);
  writer.u8(first_byte(header.type, header.key_phase, header.reserved));
  writer.u32(header.connection_id);
  writer.u16(header.space);
  writer.u32(header.packet_number);
  if (header.type != PacketType::control) {
    writer.u24(header.alias);
    writer.u8(header.layout);
    writer.u24(header.chunk);
  }
  if (header.type == PacketType::repair) {
    writer.u16(header.stride);
    writer.u8(header.k);
    writer.u8(header.m);
    writer.u8(header.symbol);
  }
  return writer.failed() ? 0 : size;
}

std::optional<ShortHeader> read_short_header(std::span<const std::byte> packet) noexcept {
  base::ByteReader reader(packet);
  const std::uint8_t first = reader.u8();
  const std::size_t size = header_bytes(type_in(first));
  if (size == 0 || packet.size() < size) return std::nullopt;
  ShortHeader header;
  header.type = type_in(first);
  header.key_phase = first >> 2 & 3;
  header.reserved = first & 3;
  header.connection_id = reader.u32();
  header.space = reader.u16();
  header.packet_number = reader.u32();
  if (header.type != PacketType::control) {
    header.alias = reader.u24();
    header.layout = reader.u8();
    header.chunk = reader.u24();
  }
  if (header.type == PacketType::repair) {
    header.stride = reader.u16();
    header.k = reader.u8();
    header.m = reader.u8();
    header.symbol = reader.u8();
  }
  return header;
}

std::size_t write_reset(std::uint32_t connection_id, const ResetToken& token,
                        std::span<std::byte> out) noexcept {
  if (out.size() < kResetDatagramMin) return 0;
  base::ByteWriter writer(out);
  writer.u8(first_byte(PacketType::reset, 0, 0));
  writer.u32(connection_id);
  std::ranges::copy(token, out.last(kResetTokenBytes).begin());
  return out.size();
}

std::optional<Reset> read_reset(std::span<const std::byte> packet) noexcept {
  if (packet.size() < kResetDatagramMin) return std::nullopt;
  base::ByteReader reader(packet);
  if (type_in(reader.u8()) != PacketType::reset) return std::nullopt;
  Reset reset;
  reset.connection_id = reader.u32();
  std::ranges::copy(packet.last(kResetTokenBytes), reset.token.begin());
  return reset;
}

}  // namespace longhaul::wire
