// SPDX-License-Identifier: Apache-2.0
// What outstanding transfers cost: O(in flight + gaps), never O(size).
#include <gtest/gtest.h>

#include "tests/support/heap.hpp"
#include "tests/unit/transfer/pair.hpp"

namespace longhaul::transfer {
namespace {

std::size_t allocated() {
  return tests::Heap::live();
}

constexpr std::uint64_t kFourGiB = std::uint64_t{4} << 30;

// Addresses nobody touches: posting a receive must not read or write them.
std::span<std::byte> untouched_memory() {
  return {reinterpret_cast<std::byte*>(std::uintptr_t{1} << 44), kFourGiB};
}

TEST(transfer_budget, ten_thousand_posted_receives_of_four_gibibytes_cost_less_than_16_mib) {
  Pair pair;
  const std::size_t before = allocated();
  for (TransferId id = 1; id <= 10'000; ++id)
    pair.b.receivers.start(pair.now, receive_request(untouched_memory(), id, id));
  EXPECT_EQ(pair.b.receivers.outstanding(), 10'000u);
  const std::size_t cost = allocated() - before;
  RecordProperty("bytes_per_receive", static_cast<int>(cost / 10'000));
  EXPECT_LT(cost, 16u << 20) << cost / 10'000 << " bytes a receive";
}

TEST(transfer_budget, transfers_that_have_ended_leave_next_to_nothing_behind) {
  Pair pair;
  const auto source = random_bytes(100);
  std::vector<std::byte> target(100);
  const auto run = [&](TransferId from, TransferId to) {
    for (TransferId id = from; id < to; ++id) {
      pair.b.receivers.start(pair.now, receive_request(target, 7, id));
      pair.settle();
      pair.a.senders.start(pair.now, send_request(source, 7, id));
      pair.settle();
      ProgressEvent progress;
      Event event;
      while (pair.a.senders.poll_progress(progress)) {
      }
      while (pair.b.receivers.poll_notification(event)) {
      }
      pair.a.events.clear();
      pair.b.events.clear();
    }
  };
  run(1, 1000);
  const std::size_t before = allocated();
  run(1000, 11'000);
  EXPECT_LT(allocated(), before + 10'000);
}

}  // namespace
}  // namespace longhaul::transfer
