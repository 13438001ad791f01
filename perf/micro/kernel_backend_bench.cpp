// SPDX-License-Identifier: Apache-2.0
// How fast the kernel backend moves datagrams over loopback: one sending and one receiving thread,
// with and without trains. `kernel_backend_bench [seconds per row] [datagrams per burst]`.
#include <fmt/core.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "lib/io/kernel/kernel_backend.hpp"

namespace {

using namespace longhaul;
using io::kernel::KernelBackend;

constexpr std::size_t kHeadSize = 28;

Timestamp now() {
  return Timestamp(std::chrono::steady_clock::now().time_since_epoch());
}

struct Row {
  std::size_t datagram = 1472;
  bool trains = true;
};

struct Outcome {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t send_calls = 0;
  std::uint64_t receive_calls = 0;
  double seconds = 0;
};

std::unique_ptr<io::Backend> open_loopback(bool trains) {
  SocketAddress local;
  local.bytes = {127, 0, 0, 1};
  auto backend =
      KernelBackend::open({.local = local, .segmentation = trains, .coalescing = trains});
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
  const auto sender = open_loopback(row.trains);
  const auto receiver = open_loopback(row.trains);
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

template <typename T>
T argument(int count, char** values, int index, T otherwise) {
  if (index >= count) return otherwise;
  const std::string_view text = values[index];
  std::from_chars(text.data(), text.data() + text.size(), otherwise);
  return otherwise;
}

}  // namespace

int main(int count, char** values) {
  const std::chrono::milliseconds length(1000 * argument(count, values, 1, 2));
  const std::size_t burst = argument<std::size_t>(count, values, 2, 64);
  fmt::print("{:>8} {:>6} {:>12} {:>12} {:>10} {:>12} {:>12}\n", "datagram", "trains",
             "sent Gbit/s", "recv Gbit/s", "recv Mpkt/s", "pkt/send call", "pkt/recv call");
  for (const std::size_t datagram : {1472UL, 8972UL, 65507UL}) {
    for (const bool trains : {false, true}) {
      Outcome outcome;
      if (!run({.datagram = datagram, .trains = trains}, burst, length, outcome)) return 1;
      const auto gigabits = [&](std::uint64_t datagrams) {
        return static_cast<double>(datagrams * datagram * 8) / outcome.seconds / 1e9;
      };
      const auto ratio = [](std::uint64_t a, std::uint64_t b) {
        return static_cast<double>(a) / static_cast<double>(b == 0 ? 1 : b);
      };
      fmt::print("{:>8} {:>6} {:>12.2f} {:>12.2f} {:>10.3f} {:>12.1f} {:>12.1f}\n", datagram,
                 trains ? "on" : "off", gigabits(outcome.sent), gigabits(outcome.received),
                 static_cast<double>(outcome.received) / outcome.seconds / 1e6,
                 ratio(outcome.sent, outcome.send_calls),
                 ratio(outcome.received, outcome.receive_calls));
    }
  }
  return 0;
}
