// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/crc_protection.hpp"

#include "lib/base/byte_reader.hpp"
#include "lib/base/byte_writer.hpp"
#include "lib/wire/packet.hpp"

namespace longhaul::crypto {
namespace {

// The checksum of a packet is over header ‖ everything behind the integrity field.
std::uint32_t checksum(std::span<const std::byte> head, std::size_t header_bytes,
                       std::span<const std::byte> payload) {
  const auto header = head.first(header_bytes);
  const auto rest_of_head = head.subspan(header_bytes + wire::kCrcBytes);
  return wire::crc32c_continue(wire::crc32c(header, rest_of_head), payload);
}

}  // namespace

std::size_t CrcProtection::overhead() const {
  return wire::kCrcBytes;
}

void CrcProtection::seal(std::span<const SealJob> burst) {
  for (const SealJob& job : burst) {
    base::TxDatagram& datagram = *job.datagram;
    const auto head = datagram.head.first(datagram.head_size);
    const auto payload =
        mode_ == base::PayloadMode::bytes ? datagram.payload : std::span<const std::byte>{};
    base::ByteWriter writer(head.subspan(job.header_bytes, wire::kCrcBytes));
    writer.u32(checksum(head, job.header_bytes, payload));
  }
}

void CrcProtection::open(std::span<OpenJob> burst) {
  for (OpenJob& job : burst) {
    const base::RxDatagram& datagram = *job.datagram;
    if (datagram.damaged || datagram.data.size() < job.header_bytes + wire::kCrcBytes) {
      job.ok = false;
      continue;
    }
    base::ByteReader reader(datagram.data.subspan(job.header_bytes, wire::kCrcBytes));
    job.ok = reader.u32() == checksum(datagram.data, job.header_bytes, {});
  }
}

}  // namespace longhaul::crypto
