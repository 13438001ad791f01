// SPDX-License-Identifier: Apache-2.0
// Nothing a transfer needs travels once: whichever control packet is lost, it completes, and soon.
#include "lib/wire/packet.hpp"
#include "tests/sim/story.hpp"

namespace longhaul::simtest {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Line kLine{.rate_bps = 1'000'000'000, .rtt = milliseconds(10), .mtu = 1500};
constexpr std::uint32_t kNone = ~std::uint32_t{0};

struct Workload {
  std::uint64_t bytes;
  std::uint32_t count;
  bool late_receive;
};

struct Played {
  std::uint32_t control_packets = 0;  // in the direction that loses one
  Duration completion{};              // both sides
  bool completed = false;
  bool equal = false;
};

bool is_control(std::span<const std::byte> head) {
  if (head.empty()) return false;
  if (wire::is_long(head.front())) return true;
  const auto header = wire::read_short_header(head);
  return header &&
         (header->type == wire::PacketType::control || header->type == wire::PacketType::digest);
}

// Everything from the first packet on counts, the handshake included.
Played run(const Workload& workload, bool from_client, std::uint32_t victim) {
  Played result;
  World world(1, base::PayloadMode::bytes);
  const sim::HostId client_host = world.add_host(1, 1500);
  const sim::HostId server_host = world.add_host(2, 1500);
  world.connect_hosts(client_host, server_host, link_of(kLine), link_of(kLine));
  world.network().set_filter([&](const sim::FilterView& view) {
    if ((view.from == client_host) != from_client || !is_control(view.head)) {
      return sim::Verdict::pass;
    }
    return result.control_packets++ == victim ? sim::Verdict::drop : sim::Verdict::pass;
  });
  Peer& client = world.open(client_host, endpoint_config(kLine));
  Peer& server = world.open(server_host, endpoint_config(kLine));
  Connected both = connect(world, client, server, World::address(2, kStoryPort), milliseconds(30));

  const std::uint64_t total = workload.bytes * workload.count;
  TensorMemory source(total);
  TensorMemory destination(total);
  fill(source.span(), 9);
  const auto receive_all = [&] {
    for (std::uint32_t i = 0; i < workload.count; ++i) {
      must(both.server.recv_tensor(
               7, bytes_view(destination.data() + i * workload.bytes, workload.bytes)),
           "receive");
    }
  };
  if (!workload.late_receive) receive_all();
  world.run_for(milliseconds(12));
  const Timestamp start = world.now();
  for (std::uint32_t i = 0; i < workload.count; ++i) {
    must(
        both.client.send_tensor(7, source_view(source.data() + i * workload.bytes, workload.bytes)),
        "send");
  }
  if (workload.late_receive) {
    world.run_for(milliseconds(40));
    receive_all();
  }
  result.completed = world.run_until(
      [&] {
        return client.count(Completion::Kind::transfer) == workload.count &&
               server.count(Completion::Kind::transfer) == workload.count;
      },
      seconds(3));
  result.completion = world.now() - start;
  for (const Peer* peer : {&client, &server}) {
    for (const Seen& seen : peer->seen()) {
      result.completed = result.completed && (seen.completion.kind != Completion::Kind::transfer ||
                                              seen.completion.status == Status::completed);
    }
  }
  result.equal = std::ranges::equal(source.span(), destination.span());
  return result;
}

class EveryControlPacket : public testing::TestWithParam<Workload> {};

TEST_P(EveryControlPacket, MayBeLost) {
  for (const bool from_client : {true, false}) {
    const Played undisturbed = run(GetParam(), from_client, kNone);
    ASSERT_TRUE(undisturbed.completed);
    ASSERT_GT(undisturbed.control_packets, 3u);
    for (std::uint32_t victim = 0; victim < undisturbed.control_packets; ++victim) {
      const Played disturbed = run(GetParam(), from_client, victim);
      SCOPED_TRACE(std::string(from_client ? "client" : "server") + "'s control packet " +
                   std::to_string(victim) + " of " + std::to_string(undisturbed.control_packets));
      EXPECT_TRUE(disturbed.completed);
      EXPECT_TRUE(disturbed.equal);
      // A lost packet of the handshake delays only the connecting, which is not measured.
      EXPECT_LE(disturbed.completion.count(),
                (undisturbed.completion + 4 * kLine.rtt + milliseconds(60)).count());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Transfers, EveryControlPacket,
                         testing::Values(Workload{2'000'000, 1, false},
                                         Workload{2'000'000, 1, true}, Workload{5'000, 4, false},
                                         Workload{5'000, 4, true}, Workload{0, 1, false}));

}  // namespace
}  // namespace longhaul::simtest
