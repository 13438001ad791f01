// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/hash/hash.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/transfer/requests.hpp"

namespace longhaul::transfer {
namespace {

TEST(hash, every_vector_width_gives_the_same_digest) {
  const hash::Choices choices = hash::choices();
  ASSERT_GE(choices.count, 1u);
  const std::vector<std::byte> bytes = random_bytes(70'000);
  for (const std::size_t size :
       {0U,   1U,   3U,   4U,   8U,    9U,    16U,   17U,     128U,    129U,
        240U, 241U, 255U, 256U, 1023U, 1024U, 1025U, 65'535U, 65'536U, 65'537U}) {
    for (const std::size_t shift : {0U, 1U, 7U, 63U}) {
      const std::uint64_t expected = choices.functions[0](bytes.data() + shift, size);
      for (std::size_t i = 1; i < choices.count; ++i)
        ASSERT_EQ(choices.functions[i](bytes.data() + shift, size), expected)
            << "choice " << i << ", " << size << " bytes";
    }
  }
}

// XXH3-64 of nothing, as its authors' test vectors have it.
TEST(hash, is_xxh3) {
  EXPECT_EQ(hash::fastest()(nullptr, 0), 0x2d06800538d394c2u);
}

TEST(hash, the_fastest_is_one_of_the_choices) {
  const hash::Choices choices = hash::choices();
  const auto end = choices.functions + choices.count;
  EXPECT_NE(std::find(choices.functions, end, hash::fastest()), end);
}

}  // namespace
}  // namespace longhaul::transfer
