// SPDX-License-Identifier: Apache-2.0
// Nothing in the data path allocates after open (DESIGN §10): a transfer four times as long
// allocates as often, also when packets are lost, reordered or doubled. The simulated network runs
// in this process, too, so its packets count as well.
//
// What is left belongs to the transfer, not to its packets: its records when it is posted and
// announced, and its lists of gaps, which double when they are full.
#include <gtest/gtest.h>

#include "tests/sim/memory.hpp"
#include "tests/sim/world.hpp"

namespace longhaul::simtest {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
const Line kLine{.rate_bps = 10'000'000'000, .rtt = std::chrono::milliseconds(10), .mtu = 9000};

// Five lists of a receive, from eight gaps to some hundred.
constexpr std::uint64_t kDoublings = 20;

class AllocationTest : public testing::Test {
 protected:
  void connect_over(const netmodel::LinkConfig& faults, std::string_view controller = "fixed") {
    EndpointConfig config = endpoint_config(kLine);
    config.controller = controller;
    const sim::HostId here = world_.add_host(1);
    const sim::HostId there = world_.add_host(2);
    world_.connect_hosts(here, there, link_of(kLine), link_of(kLine));
    client_ = &world_.open(here, config);
    server_ = &world_.open(there, config);
    ends_ = connect(world_, *client_, *server_, World::address(2, 5201), std::chrono::seconds(2));
    world_.connect_hosts(here, there, link_of(kLine, faults), link_of(kLine, faults));
  }

  /// Calls of operator new from the posting of one transfer to its end.
  std::uint64_t allocations_of(std::uint64_t bytes) {
    const TensorMemory source(bytes);
    const TensorMemory target(bytes);
    const std::uint64_t before = Heap::allocations();
    const Transfer receive = must(
        ends_.server.recv_tensor(1, bytes_view(static_cast<void*>(target.data()), bytes)), "recv");
    const Transfer send = must(
        ends_.client.send_tensor(1, bytes_view(static_cast<const void*>(source.data()), bytes)),
        "send");
    const bool ended = world_.run_until(
        [&] { return is_terminal(send.status()) && is_terminal(receive.status()); },
        std::chrono::seconds(60));
    EXPECT_TRUE(ended && receive.status() == Status::completed);
    const std::uint64_t count = Heap::allocations() - before;
    client_->forget();
    server_->forget();
    return count;
  }

  void expect_no_allocation_per_packet(std::uint64_t doublings = 0) {
    // Tables grow to what this line needs, once.
    for (int i = 0; i < 3; ++i) allocations_of(256 * kMiB);
    const std::uint64_t shorter = allocations_of(64 * kMiB);
    const std::uint64_t longer = allocations_of(256 * kMiB);
    EXPECT_LE(longer, shorter + doublings)
        << "for " << packets_of(kLine, 192 * kMiB) << " packets more";
    EXPECT_LE(shorter, 64u) << "of one transfer, both ends and the network";
  }

  World world_{7, base::PayloadMode::reference};
  Peer* client_ = nullptr;
  Peer* server_ = nullptr;
  Connected ends_;
};

TEST_F(AllocationTest, on_a_clean_line) {
  connect_over({});
  expect_no_allocation_per_packet();
}

TEST_F(AllocationTest, under_loss) {
  netmodel::LinkConfig faults;
  faults.loss = 0.01;
  connect_over(faults);
  expect_no_allocation_per_packet(kDoublings);
}

TEST_F(AllocationTest, under_bursts_duplicates_and_reordering) {
  netmodel::LinkConfig faults;
  faults.burst = {.good_to_bad = 0.001, .bad_to_good = 0.1};
  faults.jitter = std::chrono::microseconds(50);
  faults.jitter_reorders = true;
  faults.duplicate = 0.01;
  connect_over(faults);
  expect_no_allocation_per_packet(kDoublings);
}

TEST_F(AllocationTest, under_congestion_control_by_loss) {
  netmodel::LinkConfig faults;
  faults.loss = 0.0001;
  faults.queue_bytes = 2'000'000;
  connect_over(faults, "cubic");
  expect_no_allocation_per_packet(kDoublings);
}

}  // namespace
}  // namespace longhaul::simtest
