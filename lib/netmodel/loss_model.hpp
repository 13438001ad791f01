// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/base/random.hpp"
#include "lib/netmodel/link_config.hpp"

namespace longhaul::netmodel {

/// Decides packet by packet whether the link loses it: independent loss and Gilbert–Elliott bursts,
/// each on its own; a packet is lost if either says so.
class LossModel {
 public:
  /// Keeps the burst state, so that a change of probabilities does not end a burst.
  void configure(double loss, const GilbertElliott& burst) noexcept;
  bool lost(base::Random& random) noexcept;

 private:
  double loss_ = 0;
  GilbertElliott burst_{};
  bool bad_ = false;
};

}  // namespace longhaul::netmodel
