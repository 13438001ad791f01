// SPDX-License-Identifier: Apache-2.0
// The data path allocates nothing once it is open. This program counts every `new`.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/unit/io/kernel/support.hpp"

namespace {
std::atomic<std::size_t>& allocations() {
  static std::atomic<std::size_t> count = 0;
  return count;
}
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations();
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace longhaul::io::kernel {
namespace {

void expect_no_allocation(EngineChoice engine) {
  const auto sender = test::open_loopback(AddressFamily::ipv4, engine);
  const auto receiver = test::open_loopback(AddressFamily::ipv4, engine);
  ASSERT_TRUE(sender && receiver);
  test::Burst burst;
  for (std::size_t i = 0; i < 100; ++i) {
    burst.add(receiver->local_address(), i % 10 == 0 ? 900 : 1400,
              {base::Ecn::ect0, static_cast<std::uint8_t>(i / 50)});
  }
  burst.add(receiver->local_address(), 70000);
  std::array<base::RxDatagram, 32> out;

  const std::size_t before = allocations();
  ASSERT_GT(before, 0U);
  std::size_t received = 0;
  for (int round = 0; round < 10; ++round) {
    sender->transmit(test::now(), burst.datagrams());
    receiver->wake();
    while (const std::size_t count = receiver->receive(test::now(), out)) received += count;
    receiver->wait(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(received, 1000U);
}

TEST(AllocationTest, SendingReceivingWaitingAndWakingAllocateNothing) {
  expect_no_allocation(EngineChoice::mmsg);
}

TEST(AllocationTest, NorDoTheyThroughARing) {
  expect_no_allocation(EngineChoice::io_uring);
}

}  // namespace
}  // namespace longhaul::io::kernel
