// SPDX-License-Identifier: Apache-2.0
// A peer that holds the key and lies: whatever it announces, and never confirms, costs so much
// memory and no more.
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/heap.hpp"
#include "tests/unit/transfer/pair.hpp"

namespace longhaul::transfer {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kFrames = 1'200'000;

FrameBytes bytes_of(const wire::Frame& frame) {
  FrameBytes bytes(200);
  bytes.resize(wire::write_frame(frame, bytes));
  return bytes;
}

struct Flood {
  const char* name;
  std::function<wire::Frame(std::uint64_t)> frame;
  std::uint64_t bytes_max;
};

wire::Transfer announcement(std::uint64_t i) {
  wire::Transfer transfer;
  transfer.alias = static_cast<std::uint32_t>(i & wire::kAliasMax);
  transfer.tag = i;
  transfer.bytes = 1000;
  transfer.shape = Shape{1000};
  return transfer;
}

TEST(Liar, floods_of_one_kind_of_frame_are_bounded_or_end_the_connection) {
  const std::vector<Flood> floods{
      {"posted",
       [](std::uint64_t i) {
         return wire::Posted{i, 0, 1000, 1};
       },
       160 * kMiB},
      {"posted, of one tag",
       [](std::uint64_t i) {
         return wire::Posted{1, i, 1000, 1};
       },
       160 * kMiB},
      {"transfer", [](std::uint64_t i) { return announcement(i); }, 64 * kMiB},
      {"transfer, of one tag",
       [](std::uint64_t i) {
         wire::Transfer one = announcement(i);
         one.tag = 1;
         one.n = i;
         return one;
       },
       64 * kMiB},
      {"layout",
       [](std::uint64_t i) {
         return wire::Layout{static_cast<std::uint32_t>(i & wire::kAliasMax), 0, 100, 0, 1000};
       },
       24 * kMiB},
      {"send end",
       [](std::uint64_t i) {
         return wire::SendEnd{i, 0, Status::cancelled, "no"};
       },
       24 * kMiB},
      {"receive end, every second",
       [](std::uint64_t i) {
         return wire::ReceiveEnd{1, 2 * i, Status::cancelled, 0, "no"};
       },
       24 * kMiB},
      {"receive end",
       [](std::uint64_t i) {
         return wire::ReceiveEnd{i, 0, Status::cancelled, 0, "no"};
       },
       24 * kMiB},
      {"refetch",
       [](std::uint64_t i) {
         return wire::Refetch{i, 0, 0, 1000};
       },
       24 * kMiB},
      {"all sent",
       [](std::uint64_t i) {
         return wire::AllSent{i, 0};
       },
       24 * kMiB},
  };
  const TransferLimits own{.transfers_max = 100};
  const TransferLimits claimed{.transfers_max = UINT32_MAX, .eager_max = UINT32_MAX};
  for (const Flood& flood : floods) {
    Pair pair(own, claimed);
    const std::uint64_t before = tests::Heap::live();
    std::uint64_t taken = 0;
    while (taken < kFrames && pair.a.handle(pair.now, bytes_of(flood.frame(taken)))) ++taken;
    const std::uint64_t grown = tests::Heap::live() - before;
    EXPECT_LT(grown, flood.bytes_max) << flood.name << ": " << taken << " frames taken, "
                                      << grown / std::max<std::uint64_t>(taken, 1) << " bytes each";
  }
}

}  // namespace
}  // namespace longhaul::transfer
