// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/engine_probe.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <memory>
#include <vector>

#include "lib/io/kernel/mmsg_engine.hpp"
#include "lib/io/kernel/socket.hpp"
#include "lib/io/kernel/uring_engine.hpp"

namespace longhaul::io::kernel {
namespace {

constexpr std::size_t kDatagrams = 64;  // of a burst, as the worker sends them
constexpr std::size_t kHead = 28;
constexpr std::size_t kPayload = 1424;
constexpr std::size_t kMessages = 8;
constexpr std::size_t kRounds = 32;
constexpr std::size_t kRoundsMin = 8;
/// The first ones pay for pages and for arming the receive.
constexpr std::size_t kWarmUp = 4;
constexpr std::size_t kSocketBuffer = 512U << 10U;
/// Receives that find nothing before a burst counts as lost.
constexpr int kEmptyMax = 100;
constexpr std::int64_t kLimitNs = 20'000'000;

std::int64_t nanoseconds(clockid_t clock) noexcept {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// One engine on a socket that sends to itself.
class Lane {
 public:
  Lane(Socket socket, bool ring, bool segmentation) : socket_(std::move(socket)) {
    if (!ring) {
      engine_ = std::make_unique<MmsgEngine>(socket_, segmentation, kMessages);
    } else if (auto opened = UringEngine::open(
                   socket_, {.segmentation = segmentation, .receive_messages = kMessages})) {
      engine_ = std::move(*opened);
    }
    for (std::size_t i = 0; i < kDatagrams; ++i) {
      burst_[i].head = std::span(heads_).subspan(i * kHead, kHead);
      burst_[i].head_size = kHead;
      burst_[i].payload = std::span<const std::byte>(tensor_).subspan(i * kPayload, kPayload);
      burst_[i].remote = socket_.local();
    }
  }

  bool is_open() const noexcept { return engine_ != nullptr; }

  /// CPU time of one burst there and back; nothing if it did not arrive.
  std::optional<std::uint64_t> pass() noexcept {
    const std::int64_t before = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    std::span<const base::TxDatagram> rest = burst_;
    std::size_t due = kDatagrams;
    for (int empty = 0; due > 0; ++empty) {
      if (empty == kEmptyMax) return std::nullopt;
      if (!rest.empty()) rest = rest.subspan(engine_->transmit(rest));
      const std::size_t got = engine_->receive(Timestamp{}, out_);
      if (got > 0) empty = 0;
      due -= std::min(due, got);
    }
    return static_cast<std::uint64_t>(nanoseconds(CLOCK_THREAD_CPUTIME_ID) - before);
  }

 private:
  Socket socket_;
  std::unique_ptr<Engine> engine_;
  std::vector<std::byte> heads_ = std::vector<std::byte>(kDatagrams * kHead);
  std::vector<std::byte> tensor_ = std::vector<std::byte>(kDatagrams * kPayload);
  std::array<base::TxDatagram, kDatagrams> burst_{};
  std::array<base::RxDatagram, kDatagrams> out_{};
};

std::unique_ptr<Lane> open_lane(AddressFamily family, bool ring, bool segmentation) {
  SocketAddress loopback;
  loopback.family = family;
  if (family == AddressFamily::ipv4) {
    loopback.bytes = {127, 0, 0, 1};
  } else {
    loopback.bytes[15] = 1;
  }
  auto socket = Socket::open(
      {.local = loopback, .receive_buffer = kSocketBuffer, .send_buffer = kSocketBuffer});
  if (!socket) return nullptr;
  auto lane = std::make_unique<Lane>(std::move(*socket), ring, segmentation);
  return lane->is_open() ? std::move(lane) : nullptr;
}

std::uint64_t median_per_datagram(std::vector<std::uint64_t>& bursts) {
  const auto middle = bursts.begin() + static_cast<std::ptrdiff_t>(bursts.size() / 2);
  std::nth_element(bursts.begin(), middle, bursts.end());
  return *middle / kDatagrams;
}

}  // namespace

std::optional<EngineCosts> measure_engines(AddressFamily family, bool segmentation) {
  const std::int64_t end = nanoseconds(CLOCK_MONOTONIC) + kLimitNs;
  const auto plain = open_lane(family, false, segmentation);
  const auto ring = open_lane(family, true, segmentation);
  if (plain == nullptr || ring == nullptr) return std::nullopt;
  std::vector<std::uint64_t> plain_costs;
  std::vector<std::uint64_t> ring_costs;
  for (std::size_t round = 0; round < kWarmUp + kRounds; ++round) {
    const auto plain_cost = plain->pass();
    const auto ring_cost = ring->pass();
    if (!plain_cost || !ring_cost) return std::nullopt;
    if (round >= kWarmUp) {
      plain_costs.push_back(*plain_cost);
      ring_costs.push_back(*ring_cost);
    }
    if (nanoseconds(CLOCK_MONOTONIC) > end) break;
  }
  if (plain_costs.size() < kRoundsMin) return std::nullopt;
  return EngineCosts{median_per_datagram(plain_costs), median_per_datagram(ring_costs)};
}

}  // namespace longhaul::io::kernel
