// SPDX-License-Identifier: Apache-2.0
// Datagrams made by hand, with a checksum that is right.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "lib/crypto/crc_protection.hpp"
#include "lib/wire/frame.hpp"
#include "lib/wire/packet.hpp"

namespace longhaul::endpoint {

inline std::vector<std::byte> frame_bytes(const wire::Frame& frame) {
  std::vector<std::byte> bytes(400);
  bytes.resize(wire::write_frame(frame, bytes));
  return bytes;
}

/// A short packet: header, CRC, then `body`.
inline std::vector<std::byte> short_packet(const wire::ShortHeader& header,
                                           std::span<const std::byte> body) {
  const std::size_t header_bytes = wire::header_bytes(header.type);
  std::vector<std::byte> bytes(header_bytes + wire::kCrcBytes + body.size());
  wire::write_short_header(header, bytes);
  std::ranges::copy(body, bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() - body.size()));
  base::TxDatagram datagram;
  datagram.head = bytes;
  datagram.head_size = bytes.size();
  const crypto::SealJob job{&datagram, header_bytes, header.space, header.packet_number};
  crypto::CrcProtection(base::PayloadMode::bytes).seal(std::span(&job, 1));
  return bytes;
}

/// A control packet of class control on the first path.
inline std::vector<std::byte> control_packet(std::uint32_t connection_id, std::uint32_t number,
                                             std::span<const std::byte> body) {
  wire::ShortHeader header;
  header.connection_id = connection_id;
  header.space = 1;
  header.packet_number = number;
  return short_packet(header, body);
}

inline std::vector<std::byte> long_packet(const wire::LongHeader& header,
                                          std::span<const std::byte> frames,
                                          std::size_t padded_to = 0) {
  std::vector<std::byte> body(frames.begin(), frames.end());
  const std::size_t head = wire::kLongHeaderBytes + wire::kCrcBytes + header.token.size();
  if (head + body.size() < padded_to) body.resize(padded_to - head);
  std::vector<std::byte> bytes(head + body.size());
  bytes.resize(wire::write_long_packet(header, body, bytes));
  return bytes;
}

inline bool is_short(std::span<const std::byte> bytes) {
  return !wire::is_long(bytes[0]);
}

}  // namespace longhaul::endpoint
