// SPDX-License-Identifier: Apache-2.0
// Nothing in the data path of a worker allocates after open (DESIGN §10), here over sockets: this
// program counts every operator new, the library's included, by thread.
#include <gtest/gtest.h>

#include "tests/api/fixture.hpp"
#include "tests/support/heap.hpp"

namespace longhaul::tests {
namespace {

constexpr std::size_t kMiB = 1u << 20;

class Allocation : public PairTest {
 protected:
  /// What one transfer makes threads other than this one allocate: both workers.
  std::uint64_t workers_allocate(std::size_t bytes) {
    const std::uint64_t before = Heap::allocations() - Heap::allocations_here();
    const auto receive =
        to_client_.recv_tensor(1, bytes_view(static_cast<void*>(target_.data()), bytes));
    const auto send =
        to_server_.send_tensor(1, bytes_view(static_cast<const void*>(source_.data()), bytes));
    EXPECT_TRUE(receive && send);
    EXPECT_EQ(end_of(*receive), Status::completed);
    EXPECT_EQ(end_of(*send), Status::completed);
    // What a worker still frees or publishes of this transfer is not the next one's.
    (void)client_.stats();
    (void)server_.stats();
    Completion completion;
    while (client_.poll({&completion, 1}) + server_.poll({&completion, 1}) > 0) {
    }
    return Heap::allocations() - Heap::allocations_here() - before;
  }

  std::vector<std::uint8_t> source_ = pattern(64 * kMiB);
  std::vector<std::uint8_t> target_ = std::vector<std::uint8_t>(64 * kMiB);
};

TEST_F(Allocation, a_long_transfer_costs_the_workers_what_a_short_one_does) {
  ASSERT_NO_FATAL_FAILURE(connect([](EndpointConfig& config) { config.rate_bps = 4'000'000'000; }));
  // The MTU search and the growth of the tables come first.
  for (int i = 0; i < 3; ++i) workers_allocate(64 * kMiB);
  std::uint64_t shorter = UINT64_MAX;
  std::uint64_t longer = UINT64_MAX;
  // A busy machine may lose and reorder more than ever before, and lists of gaps then double.
  for (int i = 0; i < 5; ++i) {
    shorter = std::min(shorter, workers_allocate(8 * kMiB));
    longer = std::min(longer, workers_allocate(64 * kMiB));
  }
  constexpr std::uint64_t kDoublings = 8;
  EXPECT_LE(longer, shorter + kDoublings) << "for some 6000 packets more";
  EXPECT_GT(shorter, 0u) << "the library's allocations are not counted";
  EXPECT_LE(shorter, 64u);
}

}  // namespace
}  // namespace longhaul::tests
