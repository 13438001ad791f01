// SPDX-License-Identifier: Apache-2.0
// After a CRC no upper half of a vector register may be in use: SSE code would wait for it.
#include <cpuid.h>
#include <gtest/gtest.h>
#include <immintrin.h>

#include <vector>

#include "lib/wire/packet.hpp"

namespace longhaul::wire {
namespace {

constexpr std::uint64_t kYmmHigh = 1u << 2;
constexpr std::uint64_t kZmmHigh = 1u << 6;

bool tells_use() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("avx") && __get_cpuid_count(0xd, 1, &a, &b, &c, &d) != 0 &&
         (a & (1u << 2)) != 0;
}

__attribute__((target("xsave"))) std::uint64_t upper_halves_in_use() {
  return static_cast<std::uint64_t>(_xgetbv(1)) & (kYmmHigh | kZmmHigh);
}

// Not compiled for AVX, or the compiler would clear them at its end.
void use_upper_halves(const std::byte* bytes) {
  asm volatile("vmovups (%0), %%ymm7" ::"r"(bytes) : "xmm7");
}

TEST(vector_state, a_crc_leaves_no_upper_half_in_use) {
  if (!tells_use()) GTEST_SKIP() << "this CPU does not tell which vector registers are in use";
  const std::vector<std::byte> bytes(4096, std::byte{1});
  for (const std::size_t size : {0U, 1U, 63U, 256U, 1444U, 4096U}) {
    use_upper_halves(bytes.data());
    ASSERT_NE(upper_halves_in_use(), 0u) << "or this test sees nothing";
    (void)crc32c(std::span(bytes).first(size), {});
    EXPECT_EQ(upper_halves_in_use(), 0u) << size << " bytes";
  }
}

}  // namespace
}  // namespace longhaul::wire
