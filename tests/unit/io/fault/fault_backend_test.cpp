// SPDX-License-Identifier: Apache-2.0
#include "lib/io/fault/fault_backend.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/unit/io/fault/recorder.hpp"
#include "tests/unit/io/sim/world.hpp"

namespace longhaul::io {
namespace {

using namespace std::chrono_literals;
using base::PayloadMode;
using Faults = EndpointConfig::InjectedFaults;

constexpr Timestamp at(Duration time) {
  return Timestamp{} + time;
}
double margin(double n, double p) {
  return 3.29 * std::sqrt(n * p * (1 - p));
}

/// A fault backend over a recorder, and numbered datagrams of eight bytes: four of head, four of
/// payload.
struct Bench {
  explicit Bench(const Faults& faults, PayloadMode mode = PayloadMode::bytes,
                 std::size_t held_bytes_max = FaultBackend::kHeldBytesMax)
      : backend(std::make_unique<Recorder>(record), faults, 1, mode, held_bytes_max) {}

  /// Sends the next `count` numbers; returns how many were taken.
  std::size_t send(std::size_t count, Timestamp now, Timestamp departure = {}) {
    std::vector<std::array<std::byte, 8>> memory(count);
    std::vector<base::TxDatagram> burst(count);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < 4; ++k) {
        memory[i][k] = memory[i][k + 4] = static_cast<std::byte>((next + i) >> (8 * k));
      }
      burst[i].head = std::span(memory[i]).first(4);
      burst[i].head_size = 4;
      burst[i].payload = std::span(memory[i]).last(4);
      burst[i].dscp = 10;
      burst[i].departure = departure;
    }
    const std::size_t taken = backend.transmit(now, burst);
    next += taken;
    std::fill(memory.begin(), memory.end(), std::array<std::byte, 8>{});  // slots are reused
    return taken;
  }
  static std::uint32_t number(const Sent& sent) {
    std::uint32_t value = 0;
    for (std::size_t k = 0; k < 4; ++k)
      value |= std::to_integer<std::uint32_t>(sent.head[k]) << (8 * k);
    return value;
  }
  std::vector<std::uint32_t> numbers() const {
    std::vector<std::uint32_t> all;
    for (const Sent& sent : record.sent) all.push_back(number(sent));
    return all;
  }
  void poll(Timestamp now) {
    std::array<base::RxDatagram, 1> none;
    backend.receive(now, none);
  }

  Record record;
  FaultBackend backend;
  std::size_t next = 0;
};

TEST(FaultBackend, WithoutFaultsPassesWholeBurstsAndDelegatesTheRest) {
  Bench bench{Faults{}};
  EXPECT_EQ(bench.backend.capabilities().name, "fault(recorder)");
  EXPECT_EQ(bench.backend.capabilities().datagram_max, 9000u);
  EXPECT_EQ(bench.send(40, at(0ns), at(5us)), 40u);
  EXPECT_EQ(bench.record.bursts, std::vector<std::size_t>{40});
  EXPECT_EQ(bench.record.sent[7].departure, at(5us));
  EXPECT_EQ(bench.backend.next_release(), kNever);
  bench.backend.wait(3ms);
  bench.backend.wake();
  EXPECT_EQ(bench.record.waits, std::vector<Duration>{3ms});
  EXPECT_EQ(bench.record.wakes, 1);
}

TEST(FaultBackend, LosesTheConfiguredShareAndKeepsTheOrderOfTheRest) {
  Bench bench{{.loss = 0.02}};
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(bench.send(64, at(1us * i)), 64u);
  constexpr double kPackets = 2000 * 64;
  const FaultStats stats = bench.backend.fault_stats();
  EXPECT_NEAR(static_cast<double>(stats.lost), kPackets * 0.02, margin(kPackets, 0.02));
  EXPECT_EQ(bench.record.sent.size() + stats.lost, 2000u * 64);
  const auto numbers = bench.numbers();
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
}

TEST(FaultBackend, CorruptsACopyAndNeverTheSendersMemory) {
  Bench bench{{.corrupt = 1}};
  std::array<std::byte, 4> head{};
  const std::vector<std::byte> payload(500);
  for (int i = 0; i < 200; ++i) {
    base::TxDatagram datagram;
    datagram.head = head;
    datagram.head_size = head.size();
    datagram.payload = payload;
    ASSERT_EQ(bench.backend.transmit(at(1us), {&datagram, 1}), 1u);
    int flipped = 0;
    ASSERT_EQ(bench.record.sent.back().bytes.size(), 504u);
    for (const std::byte b : bench.record.sent.back().bytes) {
      flipped += std::popcount(std::to_integer<unsigned>(b));
    }
    ASSERT_GE(flipped, 1);
    ASSERT_LE(flipped, 8);
    ASSERT_FALSE(bench.record.sent.back().damaged);
  }
  EXPECT_EQ(payload, std::vector<std::byte>(500));
  EXPECT_EQ(head, (std::array<std::byte, 4>{}));
  EXPECT_EQ(bench.backend.fault_stats().corrupted, 200u);
}

TEST(FaultBackend, InModeReferenceMarksDamageAndKeepsTheReference) {
  Bench bench{{.corrupt = 0.5, .reorder = 0.5}, PayloadMode::reference};
  std::array<std::byte, 4> head{};
  const std::vector<std::byte> payload(500);
  for (int i = 0; i < 100; ++i) {
    base::TxDatagram datagram;
    datagram.head = head;
    datagram.head_size = head.size();
    datagram.payload = payload;
    bench.backend.transmit(at(1us), {&datagram, 1});
  }
  bench.poll(at(1s));
  std::uint64_t damaged = 0;
  ASSERT_EQ(bench.record.sent.size(), 100u);
  for (const Sent& sent : bench.record.sent) {
    EXPECT_EQ(sent.payload.data(), payload.data());
    EXPECT_EQ(sent.payload.size(), payload.size());
    damaged += sent.damaged ? 1u : 0u;
  }
  EXPECT_EQ(damaged, bench.backend.fault_stats().corrupted);
  EXPECT_GT(damaged, 0u);
  EXPECT_GT(bench.backend.fault_stats().reordered, 0u);
}

TEST(FaultBackend, DuplicatesTheConfiguredShare) {
  Bench bench{{.duplicate = 0.1}};
  for (int i = 0; i < 500; ++i) bench.send(64, at(0ns));
  constexpr double kPackets = 500 * 64;
  const std::uint64_t duplicated = bench.backend.fault_stats().duplicated;
  EXPECT_NEAR(static_cast<double>(duplicated), kPackets * 0.1, margin(kPackets, 0.1));
  EXPECT_EQ(bench.record.sent.size(), 500u * 64 + duplicated);
}

TEST(FaultBackend, DelaysEveryDatagramAndSaysWhenTheNextIsDue) {
  Bench bench{{.delay = 10ms}};
  bench.send(3, at(0ms));
  bench.send(1, at(1ms), at(4ms));  // its departure counts
  bench.send(1, at(2ms));
  EXPECT_TRUE(bench.record.sent.empty());
  EXPECT_EQ(bench.backend.next_release(), at(10ms));
  bench.poll(at(10ms) - 1ns);
  EXPECT_TRUE(bench.record.sent.empty());
  bench.poll(at(10ms));
  EXPECT_EQ(bench.numbers(), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(bench.record.sent[2].payload.size() + bench.record.sent[2].head.size(), 8u);
  EXPECT_EQ(bench.record.sent[2].bytes[4], std::byte{2});  // the payload was copied
  EXPECT_EQ(bench.record.sent[2].dscp, 10);
  EXPECT_EQ(bench.backend.next_release(), at(12ms));
  bench.send(1, at(20ms));  // a call of transmit releases too
  EXPECT_EQ(bench.numbers(), (std::vector<std::uint32_t>{0, 1, 2, 4, 3}));
  EXPECT_EQ(bench.backend.next_release(), at(30ms));
}

TEST(FaultBackend, ReorderedDatagramsAreOvertakenByLaterOnes) {
  Bench bench{{.reorder = 0.1, .reorder_delay = 1ms}};
  for (int i = 0; i < 300; ++i) bench.send(10, at(100us * i));
  bench.poll(at(1s));
  const auto numbers = bench.numbers();
  ASSERT_EQ(numbers.size(), 3000u);
  const FaultStats stats = bench.backend.fault_stats();
  EXPECT_NEAR(static_cast<double>(stats.reordered), 300, margin(3000, 0.1));
  // A held one leaves with the call 1 ms later, so behind the nine bursts in between.
  std::uint64_t late = 0;
  std::uint32_t largest = 0;
  for (const std::uint32_t number : numbers) {
    late += number < largest ? 1u : 0u;
    largest = std::max(largest, number);
  }
  EXPECT_NEAR(static_cast<double>(late), static_cast<double>(stats.reordered), 5);
}

TEST(FaultBackend, SendsAtOnceWhatTheBudgetCannotHold) {
  Bench bench{{.delay = 10ms}, PayloadMode::bytes, 5 * 8};
  EXPECT_EQ(bench.send(8, at(0ms)), 8u);
  EXPECT_EQ(bench.numbers(), (std::vector<std::uint32_t>{5, 6, 7}));
  EXPECT_EQ(bench.backend.fault_stats().not_held, 3u);
  EXPECT_EQ(bench.backend.fault_stats().held, 5u);
  bench.poll(at(10ms));
  bench.send(8, at(11ms));  // the budget is free again
  EXPECT_EQ(bench.backend.fault_stats().not_held, 6u);
  EXPECT_EQ(bench.backend.fault_stats().held, 10u);
}

TEST(FaultBackend, TakesOnlyThePrefixThatTheInnerBackendHasRoomFor) {
  Bench bench{{.loss = 0.1, .corrupt = 0.1, .duplicate = 0.1}};
  std::size_t taken = 0;
  for (int i = 0; i < 400; ++i) {
    bench.record.room = static_cast<std::size_t>(i % 7);
    const std::size_t count = bench.send(20, at(1us * i));
    ASSERT_LE(count, 20u);
    taken += count;
  }
  const FaultStats stats = bench.backend.fault_stats();
  EXPECT_EQ(bench.record.sent.size(), taken - stats.lost + stats.duplicated);
  // Nothing goes twice or out of order because of a blocked call.
  std::uint64_t repeated = 0;
  for (std::size_t i = 1; i < bench.record.sent.size(); ++i) {
    if (bench.record.sent[i].bytes == bench.record.sent[i - 1].bytes) ++repeated;
  }
  EXPECT_EQ(repeated, stats.duplicated);
}

TEST(FaultBackend, KeepsWhatIsDueUntilABlockedBackendHasRoom) {
  Bench bench{{.delay = 1ms}};
  bench.send(100, at(0ms));
  bench.record.room = 70;
  bench.poll(at(1ms));
  EXPECT_EQ(bench.record.sent.size(), 70u);
  const Timestamp again = bench.backend.next_release();
  EXPECT_GT(again, at(1ms));
  EXPECT_LE(again, at(2ms));
  bench.record.room = SIZE_MAX;
  bench.poll(again);
  EXPECT_EQ(bench.record.sent.size(), 100u);
  const auto numbers = bench.numbers();
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  EXPECT_EQ(bench.backend.next_release(), kNever);
}

TEST(FaultBackend, LeavesWhatIsTooBigToTheInnerBackend) {
  Bench bench{{.corrupt = 1, .delay = 1ms}};
  std::vector<std::byte> head(70'000);
  base::TxDatagram datagram;
  datagram.head = head;
  datagram.head_size = head.size();
  EXPECT_EQ(bench.backend.transmit(at(0ms), {&datagram, 1}), 1u);
  ASSERT_EQ(bench.record.sent.size(), 1u);
  EXPECT_EQ(bench.record.sent[0].head, head);
}

/// A rough line between two simulated hosts whose senders inject faults as well.
std::uint64_t trace_over_sim(PayloadMode mode) {
  sim::World world({.rate_bps = 1'000'000'000, .propagation = 3ms, .loss = 0.01, .corrupt = 0.02},
                   {}, mode);
  const Faults faults{
      .loss = 0.05, .corrupt = 0.05, .duplicate = 0.05, .reorder = 0.05, .delay = 1ms};
  FaultBackend a(std::move(world.a), faults, 5, mode, 100'000);
  const std::vector<std::byte> payload(1400, std::byte{3});
  base::Random random(9);
  std::uint64_t received = 0;
  Timestamp next{};
  for (int i = 0; i < 500; ++i, next += 100us) {
    for (;;) {
      const Timestamp wake = std::min({next, world.network.next_arrival(), a.next_release()});
      world.network.advance_to(wake);
      sim::receive_all(a, world.now());
      received += sim::receive_all(*world.b, world.now()).size();
      if (wake == next) break;
    }
    for (std::uint64_t k = random.below(20); k > 0; --k) {
      sim::send(a, sim::address_of(2, 2000), std::vector<std::byte>(22), world.now(), {},
                std::span(payload).first(random.below(1400)));
    }
  }
  EXPECT_GT(a.fault_stats().not_held, 0u);
  EXPECT_GT(received, 4000u);
  return world.network.trace_hash();
}

TEST(FaultBackend, WorksOnVirtualTimeWithTheSameTraceInBothPayloadModes) {
  EXPECT_EQ(trace_over_sim(PayloadMode::bytes), trace_over_sim(PayloadMode::reference));
}

}  // namespace
}  // namespace longhaul::io
