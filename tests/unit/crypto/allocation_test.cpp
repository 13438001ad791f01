// SPDX-License-Identifier: Apache-2.0
// Sealing and opening allocate nothing, neither by operator new nor inside OpenSSL.
#include <gtest/gtest.h>
#include <openssl/crypto.h>

#include <cstdlib>

#include "lib/crypto/aead_protection.hpp"
#include "lib/crypto/secret_random.hpp"
#include "tests/support/heap.hpp"
#include "tests/unit/crypto/aead_packets.hpp"

namespace longhaul::crypto {
namespace {

std::uint64_t openssl_allocations = 0;

void* counted_malloc(std::size_t size, const char*, int) {
  ++openssl_allocations;
  return std::malloc(size);
}
void* counted_realloc(void* memory, std::size_t size, const char*, int) {
  ++openssl_allocations;
  return std::realloc(memory, size);
}
void plain_free(void* memory, const char*, int) {
  std::free(memory);
}

std::uint64_t allocations() {
  return openssl_allocations + tests::Heap::allocations_here();
}

TEST(AeadAllocation, happens_only_at_the_beginning) {
  for (const test::Choice& choice : test::kChoices) {
    if (make_aead(choice.cipher, choice.engine) == nullptr) continue;
    const std::uint64_t at_first = openssl_allocations;
    test::Pair pair(choice);
    EXPECT_GT(openssl_allocations, at_first) << "the counter works";
    base::Random random(1);
    for (const test::Shape& shape : test::kShapes) {
      const test::Content content = random_content(random, shape);
      const test::Slot slot(pair.end(true), content, 1, 2);
      std::uint64_t before = allocations();
      pair.end(true).seal(std::span(&slot.job, 1));
      EXPECT_EQ(allocations(), before) << choice.name;
      test::Packet packet = slot.packet();
      test::Packet forged = packet;
      forged.bytes.back() ^= std::byte{1};
      before = allocations();
      EXPECT_FALSE(opened(pair.end(false), forged));
      EXPECT_TRUE(opened(pair.end(false), packet));
      EXPECT_EQ(allocations(), before) << choice.name;
    }
  }
}

TEST(SecretRandomAllocation, happens_only_at_the_beginning) {
  SecretRandom random(simulated_entropy(1));
  const std::uint64_t before = allocations();
  for (int i = 0; i < 1000; ++i) (void)random.next();
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace longhaul::crypto

int main(int count, char** values) {
  // Before OpenSSL allocates anything.
  if (CRYPTO_set_mem_functions(longhaul::crypto::counted_malloc, longhaul::crypto::counted_realloc,
                               longhaul::crypto::plain_free) != 1) {
    return 1;
  }
  testing::InitGoogleTest(&count, values);
  return RUN_ALL_TESTS();
}
