// SPDX-License-Identifier: Apache-2.0
#include "apps/common/pattern.hpp"

#include <algorithm>
#include <cstring>

namespace longhaul::apps {

void Pattern::fill(std::uint64_t offset, std::span<std::byte> out,
                   std::uint64_t mask) const noexcept {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  std::uint64_t index = offset / kWord;
  const auto skip = static_cast<std::size_t>(offset % kWord);
  const auto copy = [&](std::size_t from, std::size_t count) {
    const std::uint64_t value = word(index++) & mask;
    std::memcpy(out.data(), reinterpret_cast<const std::byte*>(&value) + from, count);
    out = out.subspan(count);
  };
  if (skip != 0 && !out.empty()) copy(skip, std::min(kWord - skip, out.size()));
  while (out.size() >= kWord) copy(0, kWord);
  if (!out.empty()) copy(0, out.size());
}

}  // namespace longhaul::apps
