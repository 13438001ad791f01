// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/crypto/keyed_hash.hpp"
#include "longhaul/address.hpp"
#include "longhaul/time.hpp"

namespace longhaul::endpoint {

/// RFC 9000 §8.1: a client proves that it receives at its address by returning a token; the server
/// keeps no state for it.
class AddressValidation {
 public:
  explicit AddressValidation(std::span<const std::byte> key) : hash_(key) {}

  using Token = std::array<std::byte, 8 + 16>;
  Token issue(Timestamp now, const SocketAddress& client, std::uint64_t attempt) const;
  bool accepts(Timestamp now, const SocketAddress& client, std::uint64_t attempt,
               std::span<const std::byte> token) const;

 private:
  crypto::KeyedHash::Tag tag(Timestamp issued, const SocketAddress& client,
                             std::uint64_t attempt) const;
  crypto::KeyedHash hash_;
};

}  // namespace longhaul::endpoint
