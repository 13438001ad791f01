// SPDX-License-Identifier: Apache-2.0
#include "lib/io/sim/packet_pool.hpp"

#include <cstring>

namespace longhaul::sim {

namespace {

constexpr std::size_t kSlabPackets = 256;

std::byte* append(std::byte* to, std::span<const std::byte> bytes) noexcept {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

}  // namespace

Packet* PacketPool::take(const base::TxDatagram& datagram) {
  const std::span<const std::byte> head{datagram.head.data(), datagram.head_size};
  const bool carry = mode_ == base::PayloadMode::bytes;
  Packet* packet = take_room(head.size() + (carry ? datagram.payload.size() : 0));
  std::byte* end = append(packet->data(), head);
  if (carry) {
    append(end, datagram.payload);
    packet->reference = {};
  } else {
    packet->reference = datagram.payload;
  }
  packet->ecn = datagram.ecn;
  packet->dscp = datagram.dscp;
  packet->damaged = datagram.damaged;
  return packet;
}

Packet* PacketPool::take(std::span<const std::byte> datagram) {
  Packet* packet = take_room(datagram.size());
  append(packet->data(), datagram);
  packet->reference = {};
  packet->ecn = base::Ecn::not_ect;
  packet->dscp = 0;
  packet->damaged = false;
  return packet;
}

Packet* PacketPool::copy(Packet& packet) {
  Packet* twin = take_room(packet.bytes_size);
  append(twin->data(), packet.bytes());
  twin->source = packet.source;
  twin->destination = packet.destination;
  twin->reference = packet.reference;
  twin->ecn = packet.ecn;
  twin->dscp = packet.dscp;
  twin->damaged = packet.damaged;
  return twin;
}

Packet* PacketPool::take_room(std::size_t bytes) {
  if (free_.empty()) {
    slabs_.emplace_back(new Packet[kSlabPackets]);
    for (std::size_t i = kSlabPackets; i > 0; --i) free_.push_back(&slabs_.back()[i - 1]);
  }
  Packet* packet = free_.back();
  free_.pop_back();
  packet->bytes_size = static_cast<std::uint32_t>(bytes);
  packet->overflow = {};
  if (bytes > packet->inline_bytes.size()) packet->overflow = buffers_.take(bytes);
  return packet;
}

}  // namespace longhaul::sim
