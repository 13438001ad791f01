// SPDX-License-Identifier: Apache-2.0
// Many requests: sends nobody has posted a receive for, and deadlines that all fail.
#include "tests/sim/story.hpp"

namespace longhaul::simtest {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Line kLine{.rate_bps = 1'000'000'000, .rtt = milliseconds(10), .mtu = 1500};
constexpr std::uint32_t kMany = 10'000;

// Reverse order of tags, or within one tag of what is left: the n-th receive still meets the n-th
// send, so only the tags are reversed.
std::uint64_t run_reverse(std::uint64_t bytes) {
  Duet duet(1, kLine);
  TensorMemory source(kMany * bytes);
  TensorMemory destination(kMany * bytes);
  fill(source.span(), 3);
  for (std::uint32_t i = 0; i < kMany; ++i) {
    SendOptions options;
    options.cookie = i;
    must(duet.both.client.send_tensor(i, source_view(source.data() + i * bytes, bytes), options),
         "send");
    if (i % 100 == 99) duet.world.run_for(milliseconds(1));
  }
  duet.world.run_for(milliseconds(300));
  EXPECT_EQ(duet.client->count(Completion::Kind::transfer), 0u);
  for (std::uint32_t i = kMany; i-- > 0;) {
    ReceiveOptions options;
    options.cookie = i;
    must(
        duet.both.server.recv_tensor(i, bytes_view(destination.data() + i * bytes, bytes), options),
        "receive");
    if (i % 100 == 0) duet.world.run_for(milliseconds(1));
  }
  EXPECT_TRUE(duet.world.run_until(
      [&] {
        return duet.client->count(Completion::Kind::transfer) == kMany &&
               duet.server->count(Completion::Kind::transfer) == kMany;
      },
      seconds(20)))
      << duet.server->count(Completion::Kind::transfer) << " receives ended";
  for (const Peer* peer : {duet.client, duet.server}) {
    for (const Seen& seen : peer->seen()) {
      EXPECT_EQ(seen.completion.status, Status::completed) << seen.completion.cookie;
    }
  }
  EXPECT_TRUE(std::ranges::equal(source.span(), destination.span()));
  return duet.world.network().trace_hash();
}

TEST(Matching, TenThousandUnmatchedSendsReceivedInReverseAllComplete) {
  EXPECT_EQ(run_reverse(100), run_reverse(100));
}

TEST(Matching, TenThousandUnmatchedSendsBeyondTheEagerBudgetAllComplete) {
  EXPECT_EQ(run_reverse(3000), run_reverse(3000));
}

// Heap after each of ten rounds of a thousand requests that all time out.
template <typename Post>
void expect_flat(Duet& duet, Post&& post) {
  constexpr std::uint32_t kRounds = 10;
  std::uint64_t after_second = 0;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    for (std::uint32_t i = 0; i < kMany / kRounds; ++i) post(i);
    ASSERT_TRUE(duet.world.run_until(
        [&] {
          return duet.client->count(Completion::Kind::transfer) +
                     duet.server->count(Completion::Kind::transfer) >=
                 kMany / kRounds;
        },
        seconds(2)));
    for (const Peer* peer : {duet.client, duet.server}) {
      for (const Seen& seen : peer->seen()) {
        ASSERT_EQ(seen.completion.status, Status::timed_out);
      }
    }
    duet.client->forget();
    duet.server->forget();
    duet.world.run_for(milliseconds(200));
    if (round == 1) after_second = Heap::live();
  }
  EXPECT_LE(Heap::live(), after_second + 64 * 1024);
}

TEST(Matching, TenThousandSendsThatMissTheirDeadlineLeaveNothingBehind) {
  Duet duet(1, kLine);
  TensorMemory memory(200'000);
  fill(memory.span(), 3);
  expect_flat(duet, [&](std::uint32_t i) {
    SendOptions options;
    options.deadline = milliseconds(30);
    const std::uint64_t bytes = i % 2 == 0 ? 1000 : 200'000;
    must(duet.both.client.send_tensor(5, source_view(memory.data(), bytes), options), "send");
  });
}

TEST(Matching, TenThousandReceivesThatMissTheirDeadlineLeaveNothingBehind) {
  Duet duet(1, kLine);
  TensorMemory memory(200'000);
  expect_flat(duet, [&](std::uint32_t i) {
    ReceiveOptions options;
    options.deadline = milliseconds(30);
    must(duet.both.server.recv_tensor(i % 7, bytes_view(memory.data(), memory.size()), options),
         "receive");
  });
}

TEST(Matching, ATransferStillMatchesAfterThousandsThatFailed) {
  Duet duet(1, kLine);
  TensorMemory memory(20'000);
  fill(memory.span(), 3);
  TensorMemory destination(20'000);
  ReceiveOptions failing;
  failing.deadline = milliseconds(5);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    must(duet.both.server.recv_tensor(5, bytes_view(destination.data(), 20'000), failing),
         "receive");
  }
  duet.world.run_for(milliseconds(100));
  // Expired receives have consumed their n: the next thousand sends meet nobody.
  SendOptions send;
  for (std::uint32_t i = 0; i < 1001; ++i) {
    send.cookie = i;
    must(duet.both.client.send_tensor(5, source_view(memory.data(), 20'000), send), "send");
  }
  ReceiveOptions last;
  last.cookie = 77;
  must(duet.both.server.recv_tensor(5, bytes_view(destination.data(), 20'000), last), "receive");
  ASSERT_TRUE(
      duet.world.run_until([&] { return ended(*duet.server, 77) != Status::pending; }, seconds(2)));
  EXPECT_EQ(ended(*duet.server, 77), Status::completed);
  EXPECT_TRUE(std::ranges::equal(memory.span(), destination.span()));
  duet.world.run_for(milliseconds(100));
  EXPECT_EQ(ended(*duet.client, 1000), Status::completed);
  EXPECT_EQ(ended(*duet.client, 0), Status::timed_out);
}

TEST(Matching, TenThousandPostedReceivesOfFourGibibytesCostLessThanSixteenMebibytes) {
  EndpointConfig config = endpoint_config(kLine);
  Duet duet(1, kLine, config, milliseconds(200), base::PayloadMode::reference);
  constexpr std::uint64_t kBytes = std::uint64_t{4} << 30;
  TensorMemory memory(kBytes);
  const std::uint64_t before = Heap::live();
  for (std::uint32_t i = 0; i < kMany; ++i) {
    must(duet.both.server.recv_tensor(i, bytes_view(memory.data(), kBytes)), "receive");
    if (i % 100 == 99) duet.world.run_for(milliseconds(1));
  }
  duet.world.run_for(milliseconds(300));
  EXPECT_LT(Heap::live() - before, 16u << 20);
}

}  // namespace
}  // namespace longhaul::simtest
