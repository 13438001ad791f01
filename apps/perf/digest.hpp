// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace longhaul::apps::perf {

/// XXH3 (64 bit) of some bytes.
std::uint64_t digest(std::span<const std::byte> bytes) noexcept;

/// The same, fed piece by piece.
class DigestStream {
 public:
  DigestStream();
  ~DigestStream();
  DigestStream(const DigestStream&) = delete;
  DigestStream& operator=(const DigestStream&) = delete;

  void update(std::span<const std::byte> bytes) noexcept;
  /// Digest of all since construction or the last call.
  std::uint64_t finish() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline constexpr std::size_t kDigestBytes = 8;
/// Digests travel little-endian.
void put_digest(std::uint64_t digest, std::span<std::byte, kDigestBytes> out) noexcept;
std::uint64_t get_digest(std::span<const std::byte, kDigestBytes> bytes) noexcept;

}  // namespace longhaul::apps::perf
