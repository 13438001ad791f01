// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "lib/base/vector_registers.hpp"

namespace longhaul::base {
namespace {

__attribute__((target("avx"))) void zero_upper() noexcept {
  _mm256_zeroupper();
}

}  // namespace

void release_vector_registers() noexcept {
  if (__builtin_cpu_supports("avx")) zero_upper();
}

}  // namespace longhaul::base
