// SPDX-License-Identifier: Apache-2.0
// Single steps of a packet's way, each alone: headers, integrity, ACKs, placement, digests, rings.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <vector>

#include "lib/base/fifo.hpp"
#include "lib/base/mpmc_ring.hpp"
#include "lib/recovery/receive_space.hpp"
#include "lib/recovery/send_space.hpp"
#include "lib/transfer/hash/hash.hpp"
#include "lib/transfer/receive_transfer.hpp"
#include "lib/wire/frame.hpp"
#include "lib/wire/packet.hpp"

namespace {

using namespace longhaul;
using std::chrono::microseconds;

constexpr std::size_t kChunk = 1444;
constexpr std::uint64_t kMiB = 1 << 20;

void set_bytes(benchmark::State& state, std::size_t each) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(each));
}

void write_header(benchmark::State& state) {
  std::array<std::byte, 64> out{};
  wire::ShortHeader header;
  header.type = wire::PacketType::source;
  header.connection_id = 0x01020304;
  for (auto _ : state) {
    ++header.packet_number;
    header.chunk = header.packet_number & 0xffffff;
    benchmark::DoNotOptimize(wire::write_short_header(header, out));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(write_header);

void read_header(benchmark::State& state) {
  std::array<std::byte, 64> bytes{};
  wire::ShortHeader header;
  header.type = wire::PacketType::source;
  wire::write_short_header(header, bytes);
  for (auto _ : state) {
    benchmark::DoNotOptimize(bytes.data());
    benchmark::DoNotOptimize(wire::read_short_header(bytes));
  }
}
BENCHMARK(read_header);

void crc(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const std::vector<std::byte> bytes(size, std::byte{7});
  for (auto _ : state)
    benchmark::DoNotOptimize(wire::crc32c(std::span(bytes).first(24), std::span(bytes)));
  set_bytes(state, size);
}
BENCHMARK(crc)->Arg(1444)->Arg(8944);

// A digest behind a CRC, as every piece has it: the one must not slow the other.
void digest_behind_crc(benchmark::State& state) {
  const std::vector<std::byte> piece(64 * 1024, std::byte{7});
  const auto hash = transfer::hash::choices().functions[state.range(0)];
  for (auto _ : state) {
    benchmark::DoNotOptimize(wire::crc32c(std::span(piece).first(kChunk), {}));
    benchmark::DoNotOptimize(hash(piece.data(), piece.size()));
  }
  set_bytes(state, piece.size());
}
BENCHMARK(digest_behind_crc)
    ->DenseRange(0, static_cast<std::int64_t>(transfer::hash::choices().count) - 1);

// A packet arrives in order and is entered; every 64th makes a report.
void receive_and_report(benchmark::State& state) {
  recovery::ReceiveSpace space;
  Timestamp now{};
  std::uint64_t number = 0;
  for (auto _ : state) {
    now += microseconds(1);
    space.on_received(now, {number, 1472, base::Ecn::ect0, true, false}, {});
    if (++number % 64 != 0) continue;
    wire::Ack ack;
    space.begin_ack(now, ack);
    benchmark::DoNotOptimize(ack);
    space.end_ack(now);
    space.set_floor(number > 10'000 ? number - 10'000 : 0);
  }
}
BENCHMARK(receive_and_report);

// A packet is recorded and, 64 at a time, acknowledged; `lost` of a thousand are missing.
void send_and_settle(benchmark::State& state) {
  recovery::SendSpace space;
  Timestamp now{};
  std::vector<wire::Gap> gaps;
  const auto lost = static_cast<std::uint64_t>(state.range(0));
  std::uint64_t number = 0;
  for (auto _ : state) {
    now += microseconds(1);
    recovery::SentPacket packet;
    packet.sent_at = now;
    packet.size = 1472;
    packet.content = recovery::Content::chunk;
    packet.outstanding = packet.in_flight = true;
    space.on_sent(packet);
    if (number * 7919 % 1000 < lost) gaps.push_back({number, 1});
    if (++number % 64 != 0) continue;
    wire::Ack ack;
    ack.floor = number < 4096 ? 0 : number - 4096;
    ack.largest = number - 1;
    while (!gaps.empty() && gaps.front().first < ack.floor) gaps.erase(gaps.begin());
    while (!gaps.empty() && gaps.back().first == ack.largest) {
      gaps.pop_back();
      --ack.largest;
    }
    ack.gaps = gaps;
    benchmark::DoNotOptimize(
        space.on_ack(now + microseconds(1000), ack, microseconds(1), microseconds(1000)).acked);
  }
}
BENCHMARK(send_and_settle)->Arg(0)->Arg(10);

// A chunk goes to its place in a tensor larger than any cache, digests included.
void place_chunk(benchmark::State& state) {
  std::vector<std::byte> tensor(256 * kMiB);
  std::vector<std::byte> packets(64 * kChunk, std::byte{3});
  std::unique_ptr<transfer::ReceiveTransfer> receive;
  std::uint32_t index = 0;
  const transfer::Layout layout{kChunk, 0, tensor.size()};
  for (auto _ : state) {
    if (receive == nullptr || index == layout.chunks()) {
      receive = std::make_unique<transfer::ReceiveTransfer>(base::PayloadMode::bytes);
      wire::Transfer frame;
      frame.bytes = tensor.size();
      frame.piece_log2 = 16;
      receive->set_announcement(frame);
      transfer::DestinationMemory memory;
      memory.add(tensor);
      receive->set_destination(std::move(memory));
      (void)receive->add_layout(0, layout);
      index = 0;
    }
    const std::size_t length = layout.range(index).length();
    const auto bytes = std::span(packets).subspan((index % 64) * kChunk, length);
    benchmark::DoNotOptimize(receive->on_chunk(0, index++, {bytes, length, false}));
  }
  set_bytes(state, kChunk);
}
BENCHMARK(place_chunk);

void fifo(benchmark::State& state) {
  base::Fifo<std::uint64_t> queue;
  std::uint64_t value = 0;
  for (auto _ : state) {
    queue.push_back(++value);
    benchmark::DoNotOptimize(queue.front());
    queue.pop_front();
  }
}
BENCHMARK(fifo);

void mailbox_ring(benchmark::State& state) {
  base::MpmcRing<std::uint64_t> ring(1024);
  std::uint64_t value = 0;
  for (auto _ : state) {
    std::uint64_t posted = ++value;
    benchmark::DoNotOptimize(ring.try_push(std::move(posted)));
    std::uint64_t taken = 0;
    benchmark::DoNotOptimize(ring.try_pop(taken));
  }
}
BENCHMARK(mailbox_ring);

}  // namespace

BENCHMARK_MAIN();
