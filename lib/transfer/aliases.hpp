// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_set>

#include "lib/base/interval_set.hpp"
#include "lib/wire/constants.hpp"

namespace longhaul::transfer {

/// Sender: short names for transfers, in turn, past those that still live.
class Aliases {
 public:
  std::uint32_t take();
  void release(std::uint32_t alias) { used_.erase(alias); }

 private:
  std::uint32_t next_ = 0;
  std::unordered_set<std::uint32_t> used_;
};

/// Receiver: names whose transfer is over, so that their late packets are known. A name comes back
/// after 2^24 others; packets of its next transfer may come before its announcement and must not
/// be taken for late ones. So names are forgotten well before their turn.
class EndedAliases {
 public:
  bool contains(std::uint32_t alias) const noexcept { return ended_.contains(alias); }
  void add(std::uint32_t alias) { ended_.insert(alias, std::uint64_t{alias} + 1); }
  /// The sender has come as far as `alias`, and uses it now.
  void on_announced(std::uint32_t alias);

 private:
  base::IntervalSet ended_;
};

}  // namespace longhaul::transfer
