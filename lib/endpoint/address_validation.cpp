// SPDX-License-Identifier: Apache-2.0
#include "lib/endpoint/address_validation.hpp"

#include <algorithm>

#include "lib/base/byte_reader.hpp"
#include "lib/base/byte_writer.hpp"

namespace longhaul::endpoint {
namespace {
// A client uses its token at once; this leaves room for repeats on a bad line.
constexpr Duration kLifetime = std::chrono::seconds(30);
}  // namespace

crypto::KeyedHash::Tag AddressValidation::tag(Timestamp issued, const SocketAddress& client,
                                              std::uint64_t attempt) const {
  std::array<std::byte, 16 + 2 + 1 + 8 + 8> message{};
  base::ByteWriter writer(message);
  writer.bytes(std::as_bytes(std::span(client.bytes)));
  writer.u16(client.port);
  writer.u8(static_cast<std::uint8_t>(client.family));
  writer.u64(attempt);
  writer.u64(static_cast<std::uint64_t>(issued.time_since_epoch().count()));
  return hash_(message);
}

AddressValidation::Token AddressValidation::issue(Timestamp now, const SocketAddress& client,
                                                  std::uint64_t attempt) const {
  Token token{};
  base::ByteWriter writer(token);
  writer.u64(static_cast<std::uint64_t>(now.time_since_epoch().count()));
  writer.bytes(tag(now, client, attempt));
  return token;
}

bool AddressValidation::accepts(Timestamp now, const SocketAddress& client, std::uint64_t attempt,
                                std::span<const std::byte> token) const {
  if (token.size() != std::tuple_size_v<Token>) return false;
  base::ByteReader reader(token);
  const Timestamp issued{Duration{static_cast<std::int64_t>(reader.u64())}};
  // What the client says is a time only once the tag has shown that we said it.
  if (!crypto::equal_in_constant_time(reader.rest(), tag(issued, client, attempt))) return false;
  return issued <= now && now - issued <= kLifetime;
}

}  // namespace longhaul::endpoint
