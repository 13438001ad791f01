// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/base/random.hpp"
#include "lib/base/random_source.hpp"

namespace longhaul::tests {

/// Numbers a test can foresee.
class SeededSource final : public base::RandomSource {
 public:
  explicit SeededSource(std::uint64_t seed) : random_(seed) {}
  std::uint64_t next() override { return random_.next(); }

 private:
  base::Random random_;
};

}  // namespace longhaul::tests
