// SPDX-License-Identifier: Apache-2.0
// What moving datagrams over loopback costs each engine, with and without trains. Three figures:
//  - how much gets through with one sending and one receiving thread;
//  - CPU time of a datagram sent and received in one thread, nothing lost, nobody waiting: what
//    else the machine does hardly shows in it;
//  - CPU time of a receive that finds nothing, as a worker that polls does most of the time.
// `kernel_backend_bench [milliseconds per row] [datagrams per burst] [rounds]`: medians of rounds.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "lib/io/kernel/kernel_backend.hpp"

namespace {

using namespace longhaul;
using io::kernel::EngineChoice;
using io::kernel::KernelBackend;

constexpr std::size_t kHeadSize = 28;

Timestamp now() {
  return Timestamp(std::chrono::steady_clock::now().time_since_epoch());
}

struct Row {
  std::size_t datagram = 1472;
  bool trains = true;
  EngineChoice engine = EngineChoice::mmsg;
};

struct Outcome {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t send_calls = 0;
  std::uint64_t receive_calls = 0;
  double seconds = 0;
  double cpu_per_datagram = 0;  // nanoseconds, in lockstep
  double cpu_per_empty = 0;     // nanoseconds
};

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::unique_ptr<io::Backend> open_loopback(bool trains, EngineChoice engine) {
  SocketAddress local;
  local.bytes = {127, 0, 0, 1};
  auto backend = KernelBackend::open(
      {.local = local, .segmentation = trains, .coalescing = trains, .engine = engine});
  if (!backend) {
    fmt::print(stderr, "cannot open a backend: {}\n", backend.error().context);
    return nullptr;
  }
  return std::move(*backend);
}

/// Counts what arrives until `stop`, reading one byte of each cache line as a CRC would.
void receive(io::Backend& backend, std::size_t burst, const std::atomic<bool>& stop) {
  std::vector<base::RxDatagram> out(burst);
  std::uint64_t sum = 0;
  while (!stop.load(std::memory_order_relaxed)) {
    const std::size_t count = backend.receive(now(), out);
    for (const auto& datagram : std::span(out).first(count)) {
      for (std::size_t i = 0; i < datagram.data.size(); i += 64) {
        sum += std::to_integer<std::uint64_t>(datagram.data[i]);
      }
    }
    if (count == 0) backend.wait(std::chrono::milliseconds(1));
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (sum == 1) fmt::print(stderr, " ");
}

bool run(const Row& row, std::size_t burst, std::chrono::milliseconds length, Outcome& outcome) {
  const auto sender = open_loopback(row.trains, row.engine);
  const auto receiver = open_loopback(row.trains, row.engine);
  if (!sender || !receiver) return false;

  std::vector<std::byte> heads(burst * kHeadSize);
  // A tensor much larger than the caches, sent front to back over and over.
  std::vector<std::byte> tensor(64U << 20U, std::byte{1});
  const std::size_t payload = row.datagram - kHeadSize;
  std::vector<base::TxDatagram> datagrams(burst);
  for (std::size_t i = 0; i < burst; ++i) {
    datagrams[i].head = std::span(heads).subspan(i * kHeadSize, kHeadSize);
    datagrams[i].head_size = kHeadSize;
    datagrams[i].remote = receiver->local_address();
  }

  std::atomic<bool> stop = false;
  std::thread reader([&] { receive(*receiver, burst, stop); });
  std::size_t offset = 0;
  const Timestamp start = now();
  const Timestamp end = start + length;
  while (now() < end) {
    for (auto& datagram : datagrams) {
      if (offset + payload > tensor.size()) offset = 0;
      datagram.payload = std::span(tensor).subspan(offset, payload);
      offset += payload;
    }
    std::span<const base::TxDatagram> rest = datagrams;
    while (!rest.empty()) rest = rest.subspan(sender->transmit(now(), rest));
  }
  outcome.seconds = std::chrono::duration<double>(now() - start).count();
  stop = true;
  reader.join();
  outcome.sent = sender->stats().datagrams_sent;
  outcome.received = receiver->stats().datagrams_received;
  outcome.send_calls = sender->stats().send_calls;
  outcome.receive_calls = receiver->stats().receive_calls;
  return true;
}

/// Sends a burst and receives it, over and over, then receives nothing, over and over.
bool run_lockstep(const Row& row, std::size_t burst, std::chrono::milliseconds length,
                  Outcome& outcome) {
  const auto sender = open_loopback(row.trains, row.engine);
  const auto receiver = open_loopback(row.trains, row.engine);
  if (!sender || !receiver) return false;
  std::vector<std::byte> heads(burst * kHeadSize);
  std::vector<std::byte> tensor(burst * row.datagram, std::byte{1});
  std::vector<base::TxDatagram> datagrams(burst);
  for (std::size_t i = 0; i < burst; ++i) {
    datagrams[i].head = std::span(heads).subspan(i * kHeadSize, kHeadSize);
    datagrams[i].head_size = kHeadSize;
    datagrams[i].payload = std::span(tensor).subspan(i * row.datagram, row.datagram - kHeadSize);
    datagrams[i].remote = receiver->local_address();
  }
  std::vector<base::RxDatagram> out(burst);
  std::uint64_t moved = 0;
  const Timestamp end = now() + length;
  double before = cpu_seconds();
  while (now() < end) {
    std::span<const base::TxDatagram> rest = datagrams;
    std::size_t due = burst;
    for (int empty = 0; due > 0 && empty < 1000;) {
      if (!rest.empty()) rest = rest.subspan(sender->transmit(now(), rest));
      const std::size_t got = receiver->receive(now(), out);
      due -= got;
      empty = got == 0 ? empty + 1 : 0;
    }
    moved += burst - due;
  }
  outcome.cpu_per_datagram = (cpu_seconds() - before) * 1e9 / static_cast<double>(moved);

  constexpr int kEmptyReceives = 20000;
  before = cpu_seconds();
  for (int i = 0; i < kEmptyReceives; ++i) receiver->receive(Timestamp{}, out);
  outcome.cpu_per_empty = (cpu_seconds() - before) * 1e9 / kEmptyReceives;
  return true;
}

template <typename T>
T argument(int count, char** values, int index, T otherwise) {
  if (index >= count) return otherwise;
  const std::string_view text = values[index];
  std::from_chars(text.data(), text.data() + text.size(), otherwise);
  return otherwise;
}

/// One measured figure of every round.
struct Figures {
  std::vector<double> received_gbits, cpu_per_datagram, cpu_per_empty, per_send, per_receive;
};

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double ratio(std::uint64_t a, std::uint64_t b) {
  return static_cast<double>(a) / static_cast<double>(b == 0 ? 1 : b);
}

void note(const Row& row, const Outcome& outcome, Figures& figures) {
  const auto bytes = static_cast<double>(outcome.received * row.datagram);
  figures.received_gbits.push_back(bytes * 8 / outcome.seconds / 1e9);
  figures.cpu_per_datagram.push_back(outcome.cpu_per_datagram);
  figures.cpu_per_empty.push_back(outcome.cpu_per_empty);
  figures.per_send.push_back(ratio(outcome.sent, outcome.send_calls));
  figures.per_receive.push_back(ratio(outcome.received, outcome.receive_calls));
}

struct Engine {
  std::string_view name;
  EngineChoice choice;
};
constexpr std::array kEngines{
    Engine{"mmsg", EngineChoice::mmsg},
    Engine{"io_uring", EngineChoice::io_uring},
    Engine{"zero_copy", EngineChoice::io_uring_zero_copy},
};

}  // namespace

int main(int count, char** values) {
  const std::chrono::milliseconds length(argument(count, values, 1, 500));
  const std::size_t burst = argument<std::size_t>(count, values, 2, 64);
  const int rounds = argument(count, values, 3, 5);
  fmt::print("{:>8} {:>6} {:>9} {:>11} {:>10} {:>8} {:>13} {:>13}\n", "datagram", "trains",
             "engine", "recv Gbit/s", "CPU ns/pkt", "ns/empty", "pkt/send call", "pkt/recv call");
  for (const std::size_t datagram : {1472UL, 8972UL, 65507UL}) {
    for (const bool trains : {false, true}) {
      std::array<Figures, kEngines.size()> figures;
      // Round by round, so that whatever else the machine does hits all of them alike.
      for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < kEngines.size(); ++i) {
          const Row row{.datagram = datagram, .trains = trains, .engine = kEngines[i].choice};
          Outcome outcome;
          if (!run(row, burst, length, outcome) || !run_lockstep(row, burst, length, outcome)) {
            return 1;
          }
          note(row, outcome, figures[i]);
        }
      }
      for (std::size_t i = 0; i < kEngines.size(); ++i) {
        Figures& all = figures[i];
        fmt::print("{:>8} {:>6} {:>9} {:>11.2f} {:>10.0f} {:>8.0f} {:>13.1f} {:>13.1f}\n", datagram,
                   trains ? "on" : "off", kEngines[i].name, median(all.received_gbits),
                   median(all.cpu_per_datagram), median(all.cpu_per_empty), median(all.per_send),
                   median(all.per_receive));
      }
    }
  }
  return 0;
}
