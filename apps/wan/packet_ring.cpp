// SPDX-License-Identifier: Apache-2.0
#include "apps/wan/packet_ring.hpp"

#include <linux/if_packet.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <atomic>
#include <bit>
#include <cerrno>

namespace longhaul::apps::wan {

namespace {

// 16,384 frames of 1500 bytes: a fifth of a second at 1 Gbit/s.
constexpr std::size_t kRingBytes = 32u << 20;
constexpr std::size_t kBlockBytes = 256u << 10;
// What the kernel puts before the frame, with its alignment.
constexpr std::size_t kOverhead = 128;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint16_t kVlanProtocol = 0x8100;

ReceivedFrame describe(const tpacket2_hdr& header, const Clocks& clocks) {
  ReceivedFrame frame;
  const auto* start = reinterpret_cast<const std::byte*>(&header);
  frame.bytes = {start + header.tp_mac, header.tp_snaplen};
  frame.whole_bytes = header.tp_len;
  frame.arrived = clocks.of_stamp(std::int64_t{header.tp_sec} * kSecond + header.tp_nsec);
  if ((header.tp_status & TP_STATUS_VLAN_VALID) != 0) {
    const bool known = (header.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0;
    frame.vlan_protocol = known ? header.tp_vlan_tpid : kVlanProtocol;
    frame.vlan_tag = header.tp_vlan_tci;
  }
  frame.no_checksum = (header.tp_status & TP_STATUS_CSUMNOTREADY) != 0;
  return frame;
}

std::atomic_ref<std::uint32_t> status_of(std::byte* slot) {
  return std::atomic_ref<std::uint32_t>(reinterpret_cast<tpacket2_hdr*>(slot)->tp_status);
}

}  // namespace

Result<PacketRing> PacketRing::create(int fd, std::size_t frame_bytes) {
  const std::size_t slot_bytes = std::bit_ceil(frame_bytes + kOverhead);
  const int version = TPACKET_V2;
  tpacket_req wanted{};
  wanted.tp_block_size = kBlockBytes;
  wanted.tp_block_nr = kRingBytes / kBlockBytes;
  wanted.tp_frame_size = static_cast<unsigned>(slot_bytes);
  wanted.tp_frame_nr = static_cast<unsigned>(kRingBytes / slot_bytes);
  if (::setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0 ||
      ::setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &wanted, sizeof wanted) != 0) {
    return fail(ErrorCode::system, "the kernel gives no ring of 32 MiB for frames", errno);
  }
  void* memory = ::mmap(nullptr, kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    return fail(ErrorCode::system, "the ring for frames cannot be mapped", errno);
  }
  return PacketRing(static_cast<std::byte*>(memory), slot_bytes, wanted.tp_frame_nr);
}

PacketRing::~PacketRing() {
  if (memory_ != nullptr) ::munmap(memory_, kRingBytes);
}

std::size_t PacketRing::receive(const Clocks& clocks, std::span<ReceivedFrame> frames) {
  give_back();
  while (taken_ < frames.size()) {
    std::byte* next = slot(head_);
    const std::uint32_t status = status_of(next).load(std::memory_order_acquire);
    if ((status & TP_STATUS_USER) == 0) break;
    frames[taken_++] = describe(*reinterpret_cast<const tpacket2_hdr*>(next), clocks);
    ++head_;
  }
  return taken_;
}

void PacketRing::give_back() noexcept {
  for (; taken_ > 0; --taken_) {
    status_of(slot(head_ - taken_)).store(TP_STATUS_KERNEL, std::memory_order_release);
  }
}

}  // namespace longhaul::apps::wan
