// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "apps/wan/port.hpp"

namespace longhaul::apps::wan {

/// The receive ring of an AF_PACKET socket (TPACKET_V2): frames cross without a system call.
class PacketRing {
 public:
  /// Room for frames of `frame_bytes`, before the socket is bound.
  static Result<PacketRing> create(int fd, std::size_t frame_bytes);
  PacketRing(PacketRing&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)),
        slot_bytes_(other.slot_bytes_),
        slots_(other.slots_),
        head_(other.head_),
        taken_(other.taken_) {}
  PacketRing& operator=(PacketRing&&) = delete;
  PacketRing(const PacketRing&) = delete;
  PacketRing& operator=(const PacketRing&) = delete;
  ~PacketRing();

  /// Gives the frames of the last call back to the kernel, and shows those that have come since.
  std::size_t receive(const Clocks& clocks, std::span<ReceivedFrame> frames);

 private:
  PacketRing(std::byte* memory, std::size_t slot_bytes, std::size_t slots)
      : memory_(memory), slot_bytes_(slot_bytes), slots_(slots) {}
  std::byte* slot(std::size_t number) const noexcept {
    return memory_ + (number % slots_) * slot_bytes_;
  }
  void give_back() noexcept;

  std::byte* memory_;
  std::size_t slot_bytes_;
  std::size_t slots_;
  std::size_t head_ = 0;   // next to read
  std::size_t taken_ = 0;  // shown by the last call, just before head_
};

}  // namespace longhaul::apps::wan
