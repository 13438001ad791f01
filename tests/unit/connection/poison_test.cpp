// SPDX-License-Identifier: Apache-2.0
// A broken invariant ends its connection; in builds that abort, the program.
#include <gtest/gtest.h>

#include "congestion/fixed.hpp"
#include "lib/base/assert.hpp"
#include "lib/base/build_config.hpp"
#include "tests/unit/connection/network.hpp"

namespace longhaul::endpoint {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A congestion controller of ours with a mistake that shows when the test says so.
class Mistaken final : public congestion::Controller {
 public:
  static inline bool in_on_ack = false;
  static inline bool in_on_sent = false;

  explicit Mistaken(const congestion::ControllerConfig& config) : fixed_(config) {}
  void on_sent(const congestion::SentEvent& event) override {
    LONGHAUL_ASSERT(!in_on_sent);
    fixed_.on_sent(event);
  }
  void on_ack(const congestion::AckEvent& event) override {
    LONGHAUL_ASSERT(!in_on_ack);
    fixed_.on_ack(event);
  }
  void on_loss(const congestion::LossEvent& event) override { fixed_.on_loss(event); }
  void on_spurious_loss(Timestamp now, Timestamp sent_at) override {
    fixed_.on_spurious_loss(now, sent_at);
  }
  void on_max_datagram_changed(std::uint64_t bytes) override {
    fixed_.on_max_datagram_changed(bytes);
  }
  std::uint64_t congestion_window() const override { return fixed_.congestion_window(); }
  congestion::BitsPerSecond pacing_rate() const override { return fixed_.pacing_rate(); }
  std::string_view name() const override { return "mistaken"; }

 private:
  congestion::Fixed fixed_;
};

struct PoisonTest : testing::Test {
  Network network;
  Host& client = network.add(1, Network::config(), environment());
  Host& server = network.add(2);
  Host& other = network.add(3);

  static Environment environment() {
    Environment result = Network::environment(1);
    result.make_controller =
        [](const congestion::ControllerConfig& config) -> std::unique_ptr<congestion::Controller> {
      return std::make_unique<Mistaken>(config);
    };
    return result;
  }
  void TearDown() override { Mistaken::in_on_ack = Mistaken::in_on_sent = false; }

  void transfer_and_break(bool& where) {
    // The server's newest connection is the one a transfer goes to.
    network.connect(other, server);
    network.transfer(other, server, 2, 1'000'000);
    network.connect(client, server);
    network.transfer(client, server, 1, 1'000'000);
    where = true;
    network.run(milliseconds(200));
    where = false;
    network.run(seconds(2));
  }
  void expect_only_the_connection_ended() {
    EXPECT_EQ(client.status(1), Status::internal);
    EXPECT_NE(client.connections.back().reason.find("broken invariant !in_on_"), std::string::npos);
    EXPECT_NE(client.connections.back().reason.find("poison_test.cpp"), std::string::npos);
    EXPECT_EQ(server.status(1), Status::closed);
    EXPECT_EQ(server.status(2), Status::completed);
    EXPECT_EQ(other.status(2), Status::completed);
    EXPECT_EQ(client.endpoint.stats().connections, 0u);
  }
};

using PoisonDeathTest = PoisonTest;

TEST_F(PoisonDeathTest, a_broken_invariant_on_the_way_in_ends_its_connection_alone) {
  if (base::kAbortOnBrokenInvariant) {
    EXPECT_DEATH(transfer_and_break(Mistaken::in_on_ack), "broken invariant: !in_on_ack");
    return;
  }
  transfer_and_break(Mistaken::in_on_ack);
  expect_only_the_connection_ended();
}

TEST_F(PoisonDeathTest, a_broken_invariant_on_the_way_out_ends_its_connection_alone) {
  if (base::kAbortOnBrokenInvariant) {
    EXPECT_DEATH(transfer_and_break(Mistaken::in_on_sent), "broken invariant: !in_on_sent");
    return;
  }
  transfer_and_break(Mistaken::in_on_sent);
  expect_only_the_connection_ended();
}

}  // namespace
}  // namespace longhaul::endpoint
