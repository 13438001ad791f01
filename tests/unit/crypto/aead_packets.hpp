// SPDX-License-Identifier: Apache-2.0
// Packets sealed and opened by two ends, for tests of AeadProtection.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "lib/crypto/aead_protection.hpp"
#include "lib/wire/packet.hpp"
#include "tests/unit/wire/bytes.hpp"

namespace longhaul::crypto::test {

using wire::test::Bytes;
using wire::test::random_bytes;

struct Choice {
  std::string_view name;
  PacketCipher cipher;
  AeadEngine engine;
};
inline constexpr Choice kChoices[] = {
    {"aes_ipsec_mb", PacketCipher::aes_128_gcm, AeadEngine::ipsec_mb},
    {"aes_openssl", PacketCipher::aes_128_gcm, AeadEngine::openssl},
    {"chacha_openssl", PacketCipher::chacha20_poly1305, AeadEngine::openssl},
};

inline Secret secret_of(unsigned char fill) {
  Secret secret;
  std::ranges::fill(secret.writable(), std::byte{fill});
  return secret;
}

/// Both ends of a connection.
class Pair {
 public:
  explicit Pair(const Choice& choice, const AeadLimits& limits = {})
      : client_({choice.cipher, secret_of(1), secret_of(2)}, limits, choice.engine),
        server_({choice.cipher, secret_of(2), secret_of(1)}, limits, choice.engine) {}
  AeadProtection& end(bool client) { return client ? client_ : server_; }

 private:
  AeadProtection client_;
  AeadProtection server_;
};

struct Shape {
  wire::PacketType type;
  std::size_t frames;
  std::size_t payload;
};
inline constexpr Shape kShapes[] = {
    {wire::PacketType::source, 0, 1400}, {wire::PacketType::source, 0, 8900},
    {wire::PacketType::source, 0, 1},    {wire::PacketType::source, 0, 0},
    {wire::PacketType::repair, 0, 700},  {wire::PacketType::control, 300, 0},
    {wire::PacketType::control, 0, 0},   {wire::PacketType::digest, 512, 0},
    {wire::PacketType::digest, 40, 60},  {wire::PacketType::digest, 48, 1024},
};

struct Content {
  wire::PacketType type = wire::PacketType::control;
  Bytes frames;
  Bytes payload;

  Bytes text() const {
    Bytes text = frames;
    text.insert(text.end(), payload.begin(), payload.end());
    return text;
  }
};

inline Content random_content(base::Random& random, const Shape& shape) {
  return {shape.type, random_bytes(random, shape.frames), random_bytes(random, shape.payload)};
}

/// On its way.
struct Packet {
  Bytes bytes;
  std::size_t header_bytes = 0;
  std::uint16_t space = 0;
  std::uint64_t number = 0;

  Bytes text() const {
    return {bytes.begin() + static_cast<std::ptrdiff_t>(header_bytes + Aead::kTagBytes),
            bytes.end()};
  }
};

/// Writes the header as a connection does, key phase included, and leaves the slot as it must be
/// for seal().
struct Slot {
  Slot(const AeadProtection& protection, const Content& content, std::uint16_t space,
       std::uint64_t number)
      : memory(100 + content.text().size(), std::byte{0xdd}) {
    wire::ShortHeader header;
    header.type = content.type;
    header.key_phase = protection.key_phase();
    header.reserved = 2;
    header.connection_id = 0x01020304;
    header.space = space;
    header.packet_number = static_cast<std::uint32_t>(number);
    job = {&datagram, wire::write_short_header(header, memory), space, number};
    std::ranges::copy(content.frames, memory.begin() + static_cast<std::ptrdiff_t>(
                                                           job.header_bytes + Aead::kTagBytes));
    datagram.head = memory;
    datagram.head_size = job.header_bytes + Aead::kTagBytes + content.frames.size();
    datagram.payload = content.payload;
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  Packet packet() const {
    return {{memory.begin(), memory.begin() + static_cast<std::ptrdiff_t>(datagram.head_size)},
            job.header_bytes,
            job.space,
            job.packet_number};
  }

  Bytes memory;
  base::TxDatagram datagram;
  SealJob job;
};

inline Packet sealed(AeadProtection& protection, const Content& content, std::uint16_t space,
                     std::uint64_t number) {
  const Slot slot(protection, content, space, number);
  protection.seal(std::span(&slot.job, 1));
  return slot.packet();
}

/// In place, as a receiver that has read the header right.
inline bool opened(AeadProtection& protection, Packet& packet, bool damaged = false) {
  base::RxDatagram datagram;
  datagram.data = packet.bytes;
  datagram.damaged = damaged;
  OpenJob job{&datagram, packet.header_bytes, packet.space, packet.number, false};
  protection.open(std::span(&job, 1));
  return job.ok;
}

}  // namespace longhaul::crypto::test
