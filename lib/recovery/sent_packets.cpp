// SPDX-License-Identifier: Apache-2.0
#include "lib/recovery/sent_packets.hpp"

#include <algorithm>
#include <bit>

namespace longhaul::recovery {

SentPackets::SentPackets(std::size_t capacity) : ring_(std::bit_ceil(capacity)) {}

SentPacket& SentPackets::append(const SentPacket& packet) {
  if (next_ - first_ == ring_.size()) {
    trim();
    if (next_ - first_ == ring_.size()) grow();
  }
  SentPacket& slot = ring_[next_ & (ring_.size() - 1)];
  slot = packet;
  ++next_;
  return slot;
}

SentPacket* SentPackets::find(std::uint64_t number) noexcept {
  if (number < first_ || number >= next_) return nullptr;
  return &ring_[number & (ring_.size() - 1)];
}

const SentPacket* SentPackets::remembered(std::uint64_t number) const noexcept {
  if (number >= next_ || next_ - number > ring_.size()) return nullptr;
  return &ring_[number & (ring_.size() - 1)];
}

void SentPackets::trim() noexcept {
  const std::size_t mask = ring_.size() - 1;
  while (first_ < next_ && !ring_[first_ & mask].outstanding) ++first_;
}

void SentPackets::grow() {
  std::vector<SentPacket> larger(ring_.size() * 2);
  for (std::uint64_t number = next_ - std::min<std::uint64_t>(next_, ring_.size()); number < next_;
       ++number)
    larger[number & (larger.size() - 1)] = ring_[number & (ring_.size() - 1)];
  ring_.swap(larger);
}

}  // namespace longhaul::recovery
