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

void* operator new(std::size_t size) {
  ++allocations();
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace longhaul::io::kernel {
namespace {

TEST(AllocationTest, SendingReceivingWaitingAndWakingAllocateNothing) {
  const auto sender = test::open_loopback(AddressFamily::ipv4);
  const auto receiver = test::open_loopback(AddressFamily::ipv4);
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

}  // namespace
}  // namespace longhaul::io::kernel
