// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lib/base/byte_reader.hpp"
#include "lib/base/byte_writer.hpp"
#include "lib/wire/frame.hpp"

namespace longhaul::wire {
namespace {

enum class Id : std::uint16_t {
  max_datagram = 1,
  peer_timeout = 2,
  heartbeat = 3,
  eager_budget = 4,
  eager_max = 5,
  transfers_max = 6,
  stateless_reset_token = 7,
  payload_mode = 8,
  connection_id = 9,
};

void put_header(base::ByteWriter& writer, Id id, std::uint16_t length) noexcept {
  writer.u16(static_cast<std::uint16_t>(id));
  writer.u16(length);
}
void put(base::ByteWriter& writer, Id id, std::uint32_t value) noexcept {
  put_header(writer, id, 4);
  writer.u32(value);
}

// False for a value that cannot be; lengths are judged by the caller. Unknown ids are consumed.
bool read_value(Id id, base::ByteReader& value, TransportParameters& parameters) noexcept {
  switch (id) {
    case Id::max_datagram:
      parameters.max_datagram = value.u32();
      return true;
    case Id::peer_timeout:
      parameters.peer_timeout_ms = value.u32();
      return true;
    case Id::heartbeat:
      parameters.heartbeat_ms = value.u32();
      return true;
    case Id::eager_budget:
      parameters.eager_budget = value.u64();
      return true;
    case Id::eager_max:
      parameters.eager_max = value.u32();
      return true;
    case Id::transfers_max:
      parameters.transfers_max = value.u32();
      return true;
    case Id::stateless_reset_token: {
      const auto token = value.bytes(kResetTokenBytes);
      if (!value.failed()) std::ranges::copy(token, parameters.reset_token.emplace().begin());
      return true;
    }
    case Id::payload_mode: {
      const std::uint8_t mode = value.u8();
      parameters.reference_payload = mode == 1;
      return mode <= 1;
    }
    case Id::connection_id:
      parameters.connection_id = value.u32();
      return true;
  }
  value.rest();
  return true;
}

}  // namespace

std::size_t write_transport_parameters(const TransportParameters& parameters,
                                       std::span<std::byte> out) noexcept {
  base::ByteWriter writer(out);
  put(writer, Id::max_datagram, parameters.max_datagram);
  put(writer, Id::peer_timeout, parameters.peer_timeout_ms);
  put(writer, Id::heartbeat, parameters.heartbeat_ms);
  put_header(writer, Id::eager_budget, 8);
  writer.u64(parameters.eager_budget);
  put(writer, Id::eager_max, parameters.eager_max);
  put(writer, Id::transfers_max, parameters.transfers_max);
  if (parameters.reset_token) {
    put_header(writer, Id::stateless_reset_token, kResetTokenBytes);
    writer.bytes(*parameters.reset_token);
  }
  // Written in either mode: equal sizes give equal traces.
  put_header(writer, Id::payload_mode, 1);
  writer.u8(parameters.reference_payload ? 1 : 0);
  if (parameters.connection_id) put(writer, Id::connection_id, *parameters.connection_id);
  return writer.failed() ? 0 : writer.written();
}

std::optional<TransportParameters> read_transport_parameters(
    std::span<const std::byte> encoded) noexcept {
  TransportParameters parameters;
  std::uint32_t seen = 0;  // one bit a known id
  base::ByteReader reader(encoded);
  while (reader.remaining() > 0) {
    const std::uint16_t id = reader.u16();
    base::ByteReader value(reader.bytes(reader.u16()));
    if (reader.failed()) return std::nullopt;
    if (id >= 1 && id <= static_cast<std::uint16_t>(Id::connection_id)) {
      if ((seen >> id & 1) != 0) return std::nullopt;
      seen |= 1u << id;
    }
    if (!read_value(static_cast<Id>(id), value, parameters)) return std::nullopt;
    if (value.failed() || value.remaining() != 0) return std::nullopt;
  }
  return parameters;
}

}  // namespace longhaul::wire
