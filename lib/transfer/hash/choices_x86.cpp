// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/hash/hash.hpp"
#include "lib/transfer/hash/implementations.hpp"

namespace longhaul::transfer::hash {

Choices choices() noexcept {
  Choices result{{portable}, 1};
  if (__builtin_cpu_supports("avx2")) result.functions[result.count++] = avx2;
  if (__builtin_cpu_supports("avx512f")) result.functions[result.count++] = avx512;
  return result;
}

Function fastest() noexcept {
  if (__builtin_cpu_supports("avx512f")) return avx512;
  return __builtin_cpu_supports("avx2") ? avx2 : portable;
}

}  // namespace longhaul::transfer::hash
