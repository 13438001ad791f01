// SPDX-License-Identifier: Apache-2.0
#include "lib/netmodel/loss_model.hpp"

namespace longhaul::netmodel {

void LossModel::configure(double loss, const GilbertElliott& burst) noexcept {
  loss_ = loss;
  burst_ = burst;
  if (burst.good_to_bad <= 0) bad_ = false;
}

bool LossModel::lost(base::Random& random) noexcept {
  bool in_burst = false;
  if (burst_.good_to_bad > 0) {
    bad_ = bad_ ? !random.chance(burst_.bad_to_good) : random.chance(burst_.good_to_bad);
    in_burst = random.chance(bad_ ? burst_.loss_bad : burst_.loss_good);
  }
  return random.chance(loss_) || in_burst;
}

}  // namespace longhaul::netmodel
