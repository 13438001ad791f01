// SPDX-License-Identifier: Apache-2.0
#include <isa-l/crc.h>

#include <algorithm>

#include "lib/base/vector_registers.hpp"
#include "lib/wire/packet.hpp"

namespace longhaul::wire {
namespace {

// ISA-L counts in int, takes the running register and leaves both inversions to the caller.
std::uint32_t run(std::uint32_t state, std::span<const std::byte> bytes) noexcept {
  constexpr std::size_t kStepMax = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const auto step = bytes.first(std::min(bytes.size(), kStepMax));
    // ISA-L's declaration lacks const; it only reads.
    auto* const begin =
        const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(step.data()));
    state = crc32_iscsi(begin, static_cast<int>(step.size()), state);
    bytes = bytes.subspan(step.size());
  }
  base::release_vector_registers();
  return state;
}

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  return ~run(run(~std::uint32_t{0}, a), b);
}

std::uint32_t crc32c_continue(std::uint32_t crc, std::span<const std::byte> more) noexcept {
  return ~run(~crc, more);
}

}  // namespace longhaul::wire
