// SPDX-License-Identifier: Apache-2.0
// Packet headers: whatever is read is written again byte for byte, and a wrong checksum is never
// accepted.
#include <algorithm>
#include <array>
#include <vector>

#include "lib/base/byte_reader.hpp"
#include "lib/wire/packet.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/integrity.hpp"

namespace longhaul::fuzz {
namespace {

using Bytes = std::vector<std::byte>;

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::ranges::equal(a, b);
}

void check_short(std::span<const std::byte> packet) {
  const auto header = wire::read_short_header(packet);
  if (!header) return;
  const std::size_t size = wire::header_bytes(header->type);
  require(size > 0 && size <= packet.size(), "a header lies inside its packet");
  Bytes written(size);
  require(wire::write_short_header(*header, written) == size, "what was read can be written");
  require(same(written, packet.first(size)), "a short header is written as it was read");
  require(wire::write_short_header(*header, std::span(written).first(size - 1)) == 0,
          "no header is written without room");
}

void check_written_again(const wire::LongPacket& read, std::span<const std::byte> packet) {
  require(read.header.token.size() <= wire::kTokenBytesMax, "a token is bounded");
  Bytes written(packet.size());
  require(wire::write_long_packet(read.header, read.frames, written) == packet.size(),
          "a long packet that was read can be written");
  require(same(written, packet), "a long packet is written as it was read");
}

void check_long(std::span<const std::byte> packet) {
  wire::LongError error{};
  if (const auto read = wire::read_long_packet(packet, error)) {
    check_written_again(*read, packet);
    return;
  }
  if (error != wire::LongError::integrity) return;
  Bytes repaired(packet.begin(), packet.end());
  // No fuzzer finds a checksum: it is put in for it.
  require(make_integrity_right(repaired), "only the checksum is wrong");
  const auto read = wire::read_long_packet(repaired, error);
  require(read.has_value(), "the right checksum is accepted");
  check_written_again(*read, repaired);
  repaired.back() ^= std::byte{1};
  require(!wire::read_long_packet(repaired, error), "one changed bit is seen");
}

void check_version_negotiation(std::span<const std::byte> packet) {
  const auto versions = wire::read_version_negotiation(packet);
  if (!versions) return;
  require(versions->size() <= wire::kVersionsMax, "versions are bounded");
  const auto peek = wire::peek_long(packet);
  require(peek.has_value(), "what can be read can be peeked at");
  Bytes written(256);
  const std::size_t size =
      wire::write_version_negotiation(peek->destination_id, peek->attempt, *versions, written);
  const auto again = wire::read_version_negotiation(std::span(written).first(size));
  require(again == versions, "version negotiation is read as it was written");
}

void check_reset(std::span<const std::byte> packet) {
  const auto reset = wire::read_reset(packet);
  if (!reset) return;
  Bytes written(packet.begin(), packet.end());
  require(wire::write_reset(reset->connection_id, reset->token, written) == packet.size(),
          "a reset that was read can be written");
  const auto again = wire::read_reset(written);
  require(again && again->connection_id == reset->connection_id && again->token == reset->token,
          "a reset is read as it was written");
}

void check_expansion(std::span<const std::byte> bytes) {
  base::ByteReader reader(bytes);
  const std::uint64_t received = reader.u64();
  const std::uint32_t truncated = reader.u32();
  const std::uint64_t largest = received >> 2;  // below 2^62
  if (reader.failed() || received == 0) return;
  const std::uint64_t number = wire::expand_packet_number(largest, truncated);
  require(static_cast<std::uint32_t>(number) == truncated, "expansion keeps the low bits");
  require(number <= wire::kPacketNumberMax, "packet numbers end at 2^62 - 1");
}

}  // namespace
}  // namespace longhaul::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longhaul::fuzz;
  const auto input = bytes_of(data, size);
  check_short(input);
  check_long(input);
  check_version_negotiation(input);
  check_reset(input);
  check_expansion(input);
  return 0;
}
