// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/base/datagram.hpp"
#include "lib/io/buffer_pool.hpp"

namespace longhaul::sim {

struct Binding;

/// A datagram on its way. Two cache lines: what links and hosts need, and room for the header of a
/// data packet; longer heads and, in mode `bytes`, payloads are in a pooled buffer.
struct alignas(64) Packet {
  Timestamp arrival{};
  const SocketAddress* source = nullptr;  ///< as the world sees it
  Binding* destination = nullptr;
  std::span<const std::byte> reference;  ///< payload that does not travel
  io::BufferPool::Buffer overflow;       ///< data == nullptr: everything is inline
  std::uint32_t bytes_size = 0;          ///< of what travels in this packet
  base::Ecn ecn = base::Ecn::not_ect;
  std::uint8_t dscp = 0;
  bool damaged = false;
  std::array<std::byte, 64> inline_bytes;

  std::byte* data() noexcept {
    return overflow.data != nullptr ? overflow.data : inline_bytes.data();
  }
  std::span<std::byte> bytes() noexcept { return {data(), bytes_size}; }
  std::size_t size() const noexcept { return bytes_size + reference.size(); }
};

/// Packets by free list. In steady state the next packet is one that was just received, still warm.
class PacketPool {
 public:
  explicit PacketPool(base::PayloadMode mode) noexcept : mode_(mode) {}

  /// Copies what travels in this payload mode; source and destination are left to the caller.
  Packet* take(const base::TxDatagram& datagram);
  Packet* take(std::span<const std::byte> datagram);
  /// A second packet that shares nothing with the first.
  Packet* copy(Packet& packet);
  void give_back(Packet* packet) {
    if (packet->overflow.data != nullptr) buffers_.give_back(packet->overflow);
    free_.push_back(packet);
  }

 private:
  Packet* take_room(std::size_t bytes);

  base::PayloadMode mode_;
  io::BufferPool buffers_;
  std::vector<Packet*> free_;
  std::vector<std::unique_ptr<Packet[]>> slabs_;
};

}  // namespace longhaul::sim
