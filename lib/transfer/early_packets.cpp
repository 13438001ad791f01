// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/early_packets.hpp"

#include <algorithm>

namespace longhaul::transfer {

bool EarlyPackets::store(std::uint32_t alias, std::uint8_t layout, std::uint32_t index, bool digest,
                         const ChunkBytes& chunk) {
  if (packets_.size() >= kPacketsMax || bytes_ + chunk.length > kBytesMax) return false;
  EarlyPacket packet{alias, layout, index, digest, chunk.by_reference, chunk.length, {}};
  packet.bytes.assign(chunk.bytes.begin(), chunk.bytes.end());
  bytes_ += packet.length;
  packets_.push_back(std::move(packet));
  return true;
}

std::vector<EarlyPacket> EarlyPackets::take(std::uint32_t alias) {
  std::vector<EarlyPacket> taken;
  const auto keep = std::stable_partition(packets_.begin(), packets_.end(),
                                          [&](const EarlyPacket& p) { return p.alias != alias; });
  for (auto it = keep; it != packets_.end(); ++it) {
    bytes_ -= it->length;
    taken.push_back(std::move(*it));
  }
  packets_.erase(keep, packets_.end());
  return taken;
}

}  // namespace longhaul::transfer
