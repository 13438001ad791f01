// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/transfer/receive_transfer.hpp"

namespace longhaul::transfer {

/// A chunk or digest packet that cannot be placed yet: its announcement or layout is still on its
/// way.
struct EarlyPacket {
  std::uint32_t alias = 0;
  std::uint8_t layout = 0;
  std::uint32_t index = 0;
  bool digest = false;
  bool by_reference = false;
  std::uint64_t length = 0;
  std::vector<std::byte> bytes;
};

/// Bounded store of such packets. When it is full the packet is treated as never received, so that
/// its sender keeps it.
class EarlyPackets {
 public:
  [[nodiscard]] bool store(std::uint32_t alias, std::uint8_t layout, std::uint32_t index,
                           bool digest, const ChunkBytes& chunk);
  /// Takes all packets of an alias, oldest first.
  std::vector<EarlyPacket> take(std::uint32_t alias);
  bool empty() const noexcept { return packets_.empty(); }

 private:
  // A burst ahead of a repeated announcement (1 ms at 40 Gbit/s) fits.
  static constexpr std::size_t kPacketsMax = 4096;
  static constexpr std::uint64_t kBytesMax = 8u << 20;
  std::vector<EarlyPacket> packets_;
  std::uint64_t bytes_ = 0;
};

}  // namespace longhaul::transfer
