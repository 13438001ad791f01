// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace longhaul::crypto {

/// HMAC-SHA256 cut to 16 bytes: for address tokens and stateless reset tokens. Of one thread at a
/// time.
class KeyedHash {
 public:
  explicit KeyedHash(std::string_view key);
  explicit KeyedHash(std::span<const std::byte> key);
  KeyedHash(KeyedHash&&) noexcept;
  ~KeyedHash();
  using Tag = std::array<std::byte, 16>;
  Tag operator()(std::span<const std::byte> message) const;

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

/// Compares without telling by its time where they differ.
bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b) noexcept;

}  // namespace longhaul::crypto
