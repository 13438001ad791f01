// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/aliases.hpp"

namespace longhaul::transfer {
namespace {
constexpr std::uint64_t kCount = std::uint64_t{wire::kAliasMax} + 1;
// Announcements overtake each other by fewer than that; what lies further ahead is of the last
// round.
constexpr std::uint64_t kAheadMin = kCount / 4;
constexpr std::uint64_t kAheadMax = kCount / 2;
}  // namespace

std::uint32_t Aliases::take() {
  std::uint32_t alias = next_;
  while (!used_.insert(alias).second) alias = (alias + 1) & wire::kAliasMax;
  next_ = (alias + 1) & wire::kAliasMax;
  return alias;
}

void EndedAliases::on_announced(std::uint32_t alias) {
  ended_.erase(alias, std::uint64_t{alias} + 1);
  const std::uint64_t begin = alias + kAheadMin;
  const std::uint64_t end = alias + kAheadMax;
  ended_.erase(begin, end);
  if (end > kCount) ended_.erase(begin > kCount ? begin - kCount : 0, end - kCount);
}

}  // namespace longhaul::transfer
