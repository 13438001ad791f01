// SPDX-License-Identifier: Apache-2.0
// Waiting, asking, stopping and closing in virtual time.
#include "lib/api/simulation.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace longhaul::api {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class SimulationTest : public ::testing::Test {
 protected:
  struct World {
    explicit World(std::uint64_t seed, base::PayloadMode mode = base::PayloadMode::bytes)
        : simulation(seed, mode) {
      sim::Network& network = simulation.network();
      left = network.add_host(SocketAddress::parse("10.0.0.1", 0).value());
      right = network.add_host(SocketAddress::parse("10.0.0.2", 0).value());
      netmodel::LinkConfig link;
      link.rate_bps = 1'000'000'000;
      link.propagation = milliseconds(25);
      network.set_link(left, right, link);
      network.set_link(right, left, link);
      EndpointConfig config;
      config.security = "none";
      config.rate_bps = 900'000'000;
      config.completions_max = 256;
      config.local.port = 5201;
      server = simulation.open(right, config).value();
      client = simulation.open(left, config).value();
    }
    void connect() {
      ASSERT_TRUE(server.listen());
      auto connected = client.connect(server.local_address());
      ASSERT_TRUE(connected) << to_string(connected.error());
      to_server = *connected;
      auto accepted = server.accept(seconds(1));
      ASSERT_TRUE(accepted) << to_string(accepted.error());
      to_client = *accepted;
    }
    Simulation simulation;
    sim::HostId left;
    sim::HostId right;
    Endpoint server;
    Endpoint client;
    Connection to_server;
    Connection to_client;
    std::vector<std::uint8_t> source = std::vector<std::uint8_t>(3 << 20, 7);
    std::vector<std::uint8_t> target = std::vector<std::uint8_t>(3 << 20);
  };

  static ConstTensorView from(const World& world) {
    return bytes_view(static_cast<const void*>(world.source.data()), world.source.size());
  }
  static TensorView to(World& world) {
    return bytes_view(static_cast<void*>(world.target.data()), world.target.size());
  }
};

TEST_F(SimulationTest, waiting_lets_virtual_time_go_on) {
  World world(1);
  ASSERT_NO_FATAL_FAILURE(world.connect());
  const Timestamp start = world.simulation.now();
  EXPECT_GE(start.time_since_epoch(), milliseconds(50)) << "a handshake takes a round trip";
  const auto receive = world.to_client.recv_tensor(1, to(world));
  const auto send = world.to_server.send_tensor(1, from(world));
  ASSERT_TRUE(receive && send);
  EXPECT_EQ(receive->wait().value(), Status::completed);
  EXPECT_EQ(world.source, world.target);
  const Duration took = world.simulation.now() - start;
  EXPECT_GT(took, milliseconds(25 + 25)) << "3 MiB at 1 Gbit/s and the delay";
  EXPECT_LT(took, milliseconds(300));
}

TEST_F(SimulationTest, a_wait_times_out_in_virtual_time) {
  World world(1);
  ASSERT_NO_FATAL_FAILURE(world.connect());
  const auto receive = world.to_client.recv_tensor(1, to(world));
  ASSERT_TRUE(receive);
  const Timestamp start = world.simulation.now();
  EXPECT_EQ(receive->wait(seconds(7)).error().code, ErrorCode::timed_out);
  EXPECT_EQ(world.simulation.now() - start, seconds(7));
  EXPECT_EQ(world.server.accept(milliseconds(3)).error().code, ErrorCode::timed_out);
  EXPECT_EQ(world.simulation.now() - start, seconds(7) + milliseconds(3));
}

TEST_F(SimulationTest, questions_move_no_time) {
  World world(1);
  ASSERT_NO_FATAL_FAILURE(world.connect());
  const Timestamp start = world.simulation.now();
  const auto stats = world.client.stats();
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->connections, 1U);
  EXPECT_GT(world.to_server.stats().value().bytes_sent, 0U);
  EXPECT_TRUE(world.client.dump([](std::string_view) {}));
  EXPECT_EQ(world.client.completion_fd(), -1);
  EXPECT_EQ(world.simulation.now(), start);
}

TEST_F(SimulationTest, a_suspended_endpoint_is_lost_and_a_resumed_one_goes_on) {
  World world(1);
  ASSERT_NO_FATAL_FAILURE(world.connect());
  const auto receive = world.to_client.recv_tensor(1, to(world));
  ASSERT_TRUE(receive);
  world.simulation.run_for(milliseconds(100));
  world.simulation.suspend(world.client);
  world.simulation.run_for(milliseconds(500));
  world.simulation.resume(world.client);
  world.simulation.run_for(milliseconds(500));
  EXPECT_EQ(receive->status(), Status::pending);
  world.simulation.suspend(world.client);
  EXPECT_EQ(receive->wait(seconds(10)).value(), Status::peer_lost);
}

TEST_F(SimulationTest, a_closing_endpoint_tells_its_peer_and_leaves_its_port) {
  World world(1);
  ASSERT_NO_FATAL_FAILURE(world.connect());
  const auto there = world.to_client.recv_tensor(1, to(world));
  const auto here = world.to_server.recv_tensor(1, to(world));
  ASSERT_TRUE(there && here);
  const Timestamp start = world.simulation.now();
  world.client.close();
  EXPECT_EQ(world.simulation.now(), start);
  EXPECT_EQ(here->status(), Status::closed);
  EXPECT_EQ(there->wait(seconds(1)).value(), Status::closed);
  EndpointConfig config;
  config.security = "none";
  config.local.port = 5201;
  EXPECT_TRUE(world.simulation.open(world.left, config));
  EXPECT_EQ(world.simulation.open(world.right, config).error().code, ErrorCode::address_in_use);
}

TEST_F(SimulationTest, handles_outlive_the_simulation) {
  Transfer transfer;
  Endpoint endpoint;
  {
    World world(1);
    ASSERT_NO_FATAL_FAILURE(world.connect());
    transfer = world.to_client.recv_tensor(1, to(world)).value();
    endpoint = std::move(world.server);
  }
  EXPECT_EQ(transfer.status(), Status::closed);
  EXPECT_EQ(endpoint.listen().error().code, ErrorCode::closed);
}

std::uint64_t run_once(std::uint64_t seed, base::PayloadMode mode) {
  EndpointConfig config;
  config.security = "none";
  config.completions_max = 256;
  config.local.port = 5201;
  config.inject.loss = 0.01;
  Simulation simulation(seed, mode);
  sim::Network& network = simulation.network();
  const auto left = network.add_host(SocketAddress::parse("10.0.0.1", 0).value());
  const auto right = network.add_host(SocketAddress::parse("10.0.0.2", 0).value());
  netmodel::LinkConfig link;
  link.rate_bps = 1'000'000'000;
  link.propagation = milliseconds(5);
  network.set_link(left, right, link);
  network.set_link(right, left, link);
  Endpoint server = simulation.open(right, config).value();
  Endpoint client = simulation.open(left, config).value();
  EXPECT_TRUE(server.listen());
  const Connection up = client.connect(server.local_address()).value();
  const Connection down = server.accept(seconds(1)).value();
  std::vector<std::uint8_t> source(1 << 20, 3);
  std::vector<std::uint8_t> target(source.size());
  const auto receive =
      down.recv_tensor(1, bytes_view(static_cast<void*>(target.data()), target.size()));
  EXPECT_TRUE(
      up.send_tensor(1, bytes_view(static_cast<const void*>(source.data()), source.size())));
  EXPECT_EQ(receive->wait(seconds(20)).value_or(Status::pending), Status::completed);
  return network.trace_hash();
}

TEST_F(SimulationTest, a_seed_gives_one_trace_in_both_payload_modes) {
  const std::uint64_t first = run_once(7, base::PayloadMode::bytes);
  EXPECT_EQ(run_once(7, base::PayloadMode::bytes), first);
  EXPECT_EQ(run_once(7, base::PayloadMode::reference), first);
  EXPECT_NE(run_once(8, base::PayloadMode::bytes), first);
}

}  // namespace
}  // namespace longhaul::api
