// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "apps/wan/counters.hpp"
#include "apps/wan/due_queue.hpp"
#include "apps/wan/packet_pool.hpp"
#include "apps/wan/plan.hpp"
#include "apps/wan/port.hpp"
#include "lib/netmodel/link.hpp"

namespace longhaul::apps::wan {

/// One direction of a link at work: frames in at one port, through the model, out at another.
class Lane {
 public:
  /// Most frames of one call of `receive` or `deliver`.
  static constexpr std::size_t kBurst = 64;

  Lane(const DirectionPlan& plan, std::uint64_t seed, Timestamp start, Port& from, Port& to,
       PacketPool& pool);

  /// Offers what waits at the port to the line; returns how many frames there were.
  std::size_t receive(const Clocks& clocks);
  /// Takes what is due off the line and sends it; returns how many packets that were.
  std::size_t deliver(Timestamp now);
  /// Changes of the schedule whose time has come; without packets they would wait for one.
  void advance(Timestamp now);

  Timestamp first_due() const noexcept { return queue_.first_due(); }
  Timestamp next_change() const noexcept;
  /// A frame that came now would be due no earlier than so much later.
  Duration patience() const noexcept { return link_.config().propagation; }
  Port& from() noexcept { return from_; }

  /// Asks the kernel for what it has dropped, too.
  DirectionStats stats();

 private:
  bool admissible(const ReceivedFrame& frame);
  void offer(const ReceivedFrame& frame);
  void dispatch(const netmodel::Outcome& outcome, std::byte* data, std::uint32_t bytes);
  void count_sent(const Packet& packet, SendFate fate, Timestamp now) noexcept;

  std::vector<Stage> stages_;
  std::size_t next_stage_ = 1;
  Timestamp start_;
  netmodel::Link link_;
  Port& from_;
  Port& to_;
  PacketPool& pool_;
  DueQueue queue_;
  std::uint64_t number_ = 0;
  EmulatorStats stats_{};
  std::array<ReceivedFrame, kBurst> received_{};
};

}  // namespace longhaul::apps::wan
