// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/fifo.hpp"
#include "lib/io/sim/packet_pool.hpp"
#include "lib/io/sim/trace_hash.hpp"
#include "lib/netmodel/link.hpp"

namespace longhaul::sim {

/// The packets of one direction between two hosts, in front of the link model and behind it.
class Line {
 public:
  struct Numbers {
    std::uint32_t from;  ///< host
    std::uint32_t to;    ///< host
    std::uint32_t id;    ///< among all lines
    std::uint32_t slot;  ///< among the lines into `to`
  };
  Line(const Numbers& numbers, std::uint64_t seed, const netmodel::LinkConfig& config);

  const Numbers& numbers() const noexcept { return numbers_; }
  netmodel::Link& link() noexcept { return link_; }
  const netmodel::Link& link() const noexcept { return link_; }
  TraceHash& trace() noexcept { return trace_; }
  const TraceHash& trace() const noexcept { return trace_; }

  /// Keeps a packet that enters the link at `entry`; equal times keep the order of the calls.
  void wait_for_entry(Packet* packet, Timestamp entry, std::size_t header_bytes);
  /// When the first packet enters; kNever if none waits.
  Timestamp next_entry() const noexcept {
    return entering_.empty() ? kNever : entering_.front().entry;
  }
  Packet* take_entering() noexcept;

  /// The packet is under way and arrives at `packet->arrival`.
  void fly(Packet* packet, bool in_order);
  /// When the first packet arrives; kNever if none is under way.
  Timestamp next_arrival() const noexcept;
  Packet* take_arrived() noexcept;

  /// No packet can arrive before: the next arrival, or the least that one about to enter needs.
  Timestamp due() const noexcept;
  /// The `due()` that the host's heap knows; the network's.
  Timestamp published_due = kNever;

 private:
  struct Entering {
    Timestamp entry;
    Packet* packet;
    std::size_t header_bytes;
  };
  struct Flying {
    Timestamp arrival;
    Packet* packet;
  };
  struct Overtaking {
    Timestamp arrival;
    std::uint64_t serial;
    Packet* packet;
  };
  struct Later {
    bool operator()(const Overtaking& a, const Overtaking& b) const noexcept {
      return a.arrival > b.arrival || (a.arrival == b.arrival && a.serial > b.serial);
    }
  };

  Numbers numbers_;
  netmodel::Link link_;
  TraceHash trace_;
  base::Fifo<Entering> entering_;  // by entry
  base::Fifo<Flying> queue_;       // ascending arrivals: everything, unless the link reorders
  std::vector<Overtaking> heap_;   // what cannot go to the end of `queue_`
  std::uint64_t serial_ = 0;
};

}  // namespace longhaul::sim
