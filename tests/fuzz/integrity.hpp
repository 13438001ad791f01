// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lib/base/byte_reader.hpp"
#include "lib/base/byte_writer.hpp"
#include "lib/wire/packet.hpp"

namespace longhaul::fuzz {

/// Puts the right checksum into a packet, as anybody can while `security` is `none`. False, and
/// nothing done, if it has none or is too short.
inline bool make_integrity_right(std::span<std::byte> packet) {
  if (packet.empty()) return false;
  std::size_t at = 0;
  if (wire::is_long(packet[0])) {
    base::ByteReader reader(packet);
    reader.bytes(wire::kLongHeaderBytes - 2);
    reader.bytes(reader.u16());
    if (reader.failed()) return false;
    at = packet.size() - reader.remaining();
  } else {
    const auto header = wire::read_short_header(packet);
    if (!header) return false;
    at = wire::header_bytes(header->type);
  }
  if (packet.size() < at + wire::kCrcBytes) return false;
  const std::uint32_t sum = wire::crc32c(packet.first(at), packet.subspan(at + wire::kCrcBytes));
  base::ByteWriter(packet.subspan(at)).u32(sum);
  return true;
}

}  // namespace longhaul::fuzz
