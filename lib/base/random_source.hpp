// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace longhaul::base {

/// Where numbers come from that others get to see. Whoever knows all that came before must not
/// foresee the next: `crypto::SecretRandom`, never `Random`.
class RandomSource {
 public:
  virtual std::uint64_t next() = 0;

 protected:
  ~RandomSource() = default;
};

}  // namespace longhaul::base
