// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "lib/io/backend.hpp"

namespace longhaul::tests {

/// A backend a test sees through: what is to arrive, how much it accepts, what it was asked.
class FakeBackend final : public io::Backend {
 public:
  explicit FakeBackend(std::size_t burst_max = 4) {
    capabilities_.name = "fake";
    capabilities_.burst_max = burst_max;
    capabilities_.datagram_max = 1472;
    capabilities_.wakes = true;
  }

  const io::Capabilities& capabilities() const override { return capabilities_; }
  SocketAddress local_address() const override { return {}; }

  std::size_t receive(Timestamp now, std::span<base::RxDatagram> out) override {
    if (on_receive) on_receive();
    std::size_t count = 0;
    lent_.clear();
    for (; count < out.size() && !arrivals.empty(); ++count) {
      lent_.push_back(arrivals.front());
      arrivals.pop_front();
    }
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = {};
      out[i].data = std::as_writable_bytes(std::span(lent_[i]));
      out[i].received_at = now;
    }
    return count;
  }

  std::size_t transmit(Timestamp, std::span<const base::TxDatagram> burst) override {
    std::size_t accepted = 0;
    for (; accepted < burst.size() && room > 0; ++accepted, --room) {
      const base::TxDatagram& datagram = burst[accepted];
      std::string text(reinterpret_cast<const char*>(datagram.head.data()), datagram.head_size);
      text.append(reinterpret_cast<const char*>(datagram.payload.data()), datagram.payload.size());
      sent.push_back(std::move(text));
    }
    return accepted;
  }

  bool release_payload() override {
    ++release_requests;
    return !holds_payload;
  }
  void finish() override { ++finishes; }

  void wait(Duration longest) override {
    waits.push_back(longest);
    ++sleeps;
    while (!woken_.exchange(false)) std::this_thread::yield();
  }
  void wake() override { woken_.store(true); }

  Result<void> register_memory(Region, std::span<std::byte>) override { return {}; }
  void unregister_memory(Region) override {}
  io::BackendStats stats() const override { return {}; }
  Timestamp next_release() const override { return release; }
  void watch_refusals(bool on) override { watches.push_back(on); }
  std::size_t take_too_big(std::span<base::TooBig> out) override {
    const std::size_t count = std::min(out.size(), too_big.size());
    for (std::size_t i = 0; i < count; ++i) out[i].size = too_big[i];
    too_big.clear();
    return count;
  }
  std::size_t take_refusals(std::span<base::Refusal> out) override {
    std::size_t count = 0;
    for (; count < out.size() && !refusals.empty(); ++count) {
      out[count] = refusals.front();
      refusals.pop_front();
    }
    return count;
  }

  std::deque<std::string> arrivals;
  std::deque<base::Refusal> refusals;
  std::vector<std::uint32_t> too_big;  // sizes
  std::vector<bool> watches;
  std::size_t room = 1000;  ///< datagrams it still accepts
  std::vector<std::string> sent;
  std::vector<Duration> waits;
  std::atomic<int> sleeps{0};
  Timestamp release = kNever;
  bool holds_payload = false;
  int release_requests = 0;
  int finishes = 0;
  std::function<void()> on_receive;

 private:
  io::Capabilities capabilities_;
  std::vector<std::string> lent_;
  std::atomic<bool> woken_{false};
};

}  // namespace longhaul::tests
