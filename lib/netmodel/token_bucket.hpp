// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lib/netmodel/link_config.hpp"

namespace longhaul::netmodel {

/// The policer: tokens come at a rate, up to a burst; a packet takes its size of them or is
/// dropped. Exact: tokens are kept in bits × 10^9.
class TokenBucket {
 public:
  /// A bucket that is switched on starts full; a changed one keeps what fits.
  void configure(const Policer& policer, Timestamp now) noexcept;
  /// False: the packet exceeds the bucket and takes nothing. `now` never goes backwards.
  bool take(Timestamp now, std::uint64_t wire_bytes) noexcept;

 private:
  void fill(Timestamp now) noexcept;

  std::uint64_t rate_bps_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint64_t tokens_ = 0;
  Timestamp filled_{};
};

}  // namespace longhaul::netmodel
