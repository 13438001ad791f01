// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/memory.hpp"

#include <xxhash.h>

#include <cstring>

#include "lib/transfer/hash/hash.hpp"

namespace longhaul::transfer {
namespace {

template <typename Byte>
std::uint64_t digest_of(const Segments<Byte>& memory, std::uint64_t offset, std::uint64_t length) {
  if (const auto whole = memory.contiguous(offset, length); !whole.empty() || length == 0)
    return hash::fastest()(whole.data(), whole.size());
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  memory.visit(offset, length,
               [&](std::span<Byte> part) { XXH3_64bits_update(&state, part.data(), part.size()); });
  return XXH3_64bits_digest(&state);
}

}  // namespace

void copy_out(const SourceMemory& from, std::uint64_t offset, std::span<std::byte> to) {
  from.visit(offset, to.size(), [&](std::span<const std::byte> part) {
    std::memcpy(to.data(), part.data(), part.size());
    to = to.subspan(part.size());
  });
}

void copy_in(std::span<const std::byte> from, const DestinationMemory& to, std::uint64_t offset) {
  to.visit(offset, from.size(), [&](std::span<std::byte> part) {
    std::memcpy(part.data(), from.data(), part.size());
    from = from.subspan(part.size());
  });
}

std::uint64_t digest(const SourceMemory& memory, std::uint64_t offset, std::uint64_t length) {
  return digest_of(memory, offset, length);
}

std::uint64_t digest(const DestinationMemory& memory, std::uint64_t offset, std::uint64_t length) {
  return digest_of(memory, offset, length);
}

}  // namespace longhaul::transfer
