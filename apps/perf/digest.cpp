// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/digest.hpp"

#include <xxhash.h>

namespace longhaul::apps::perf {

struct DigestStream::State {
  XXH3_state_t xxh3;
};

std::uint64_t digest(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

DigestStream::DigestStream() : state_(std::make_unique<State>()) {
  XXH3_64bits_reset(&state_->xxh3);
}

DigestStream::~DigestStream() = default;

void DigestStream::update(std::span<const std::byte> bytes) noexcept {
  XXH3_64bits_update(&state_->xxh3, bytes.data(), bytes.size());
}

std::uint64_t DigestStream::finish() noexcept {
  const std::uint64_t result = XXH3_64bits_digest(&state_->xxh3);
  XXH3_64bits_reset(&state_->xxh3);
  return result;
}

void put_digest(std::uint64_t digest, std::span<std::byte, kDigestBytes> out) noexcept {
  for (std::size_t i = 0; i < kDigestBytes; ++i) {
    out[i] = static_cast<std::byte>(digest >> (8 * i) & 0xff);
  }
}

std::uint64_t get_digest(std::span<const std::byte, kDigestBytes> bytes) noexcept {
  std::uint64_t result = 0;
  for (std::size_t i = kDigestBytes; i-- > 0;) {
    result = result << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  }
  return result;
}

}  // namespace longhaul::apps::perf
