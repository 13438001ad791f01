// SPDX-License-Identifier: Apache-2.0
// A flood of forged first packets at an endpoint of the kernel backend while a transfer goes on.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/api/fixture.hpp"
#include "tests/support/flooder.hpp"

namespace longhaul::tests {
namespace {

constexpr std::uint64_t kPerSecond = 100'000;
// Fewer are no flood. A busy machine takes longer for them.
constexpr std::uint64_t kForgedMin = 10'000;
constexpr seconds kFloodMin(2);
constexpr seconds kFloodMax(60);
constexpr std::uint64_t kGrowthMax = 16 << 20;

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

class Flood : public PairTest, public ::testing::WithParamInterface<Forgery> {};

TEST_P(Flood, leaves_memory_bounded_a_transfer_right_and_the_door_open) {
  const std::string key = generate_key("flood").value();
  const auto with_key = [&](EndpointConfig& config) {
    config.security.clear();
    config.psk = key;
    config.peer_timeout = seconds(10);
    config.connect_timeout = kPatience;
  };
  ASSERT_NO_FATAL_FAILURE(connect(with_key));
  EndpointConfig config = test_config();
  with_key(config);
  Flooder flooder(config, server_.local_address());
  const auto source = pattern(64 << 20);
  std::vector<std::uint8_t> target(source.size(), 0xa5);
  const auto exchange = [&](const Connection& from, const Connection& to, Tag tag) {
    const auto receive = to.recv_tensor(tag, view(target));
    const auto send = from.send_tensor(tag, view(source));
    ASSERT_TRUE(receive && send);
    ASSERT_EQ(end_of(*send), Status::completed) << send->reason();
    ASSERT_EQ(end_of(*receive), Status::completed) << receive->reason();
    ASSERT_EQ(source, target);
    std::ranges::fill(target, std::uint8_t{0});
  };
  ASSERT_NO_FATAL_FAILURE(exchange(to_server_, to_client_, 1));  // memory in use from here on
  const std::uint64_t before = resident_bytes();
  flooder.start(GetParam(), kPerSecond);
  const auto begin = std::chrono::steady_clock::now();
  const auto goes_on = [&] {
    const auto spent = std::chrono::steady_clock::now() - begin;
    return spent < kFloodMin || (flooder.sent() <= kForgedMin && spent < kFloodMax);
  };
  for (Tag tag = 2; goes_on(); ++tag)
    ASSERT_NO_FATAL_FAILURE(exchange(to_server_, to_client_, tag));
  auto late = Endpoint::open(config);
  ASSERT_TRUE(late);
  const auto connected = late->connect(server_.local_address());
  EXPECT_TRUE(connected) << "a client that comes now: " << why(connected);
  const std::uint64_t sent = flooder.sent();
  flooder.stop();
  const std::uint64_t after = resident_bytes();
  EXPECT_LT(after, before + kGrowthMax) << "grew by " << ((after - before) >> 10) << " KiB";
  EXPECT_GT(sent, kForgedMin) << "that was no flood";
  EXPECT_LE(server_.stats()->connections, 2u);
  std::printf("%llu forged\n", static_cast<unsigned long long>(sent));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Flood,
                         ::testing::Values(Forgery::nonsense, Forgery::hello, Forgery::token,
                                           Forgery::shorts));

}  // namespace
}  // namespace longhaul::tests
