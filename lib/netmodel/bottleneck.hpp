// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "lib/base/fifo.hpp"
#include "longhaul/time.hpp"

namespace longhaul::netmodel {

/// A line of a fixed rate with a drop-tail queue in front. It keeps the virtual finish time of all
/// that was accepted, exact to a fraction of a nanosecond, so any run of back-to-back packets takes
/// exactly its bits divided by the rate.
class Bottleneck {
 public:
  /// 0 = unlimited, for both. What is queued keeps the times it was given.
  void configure(std::uint64_t rate_bps, std::uint64_t queue_bytes) noexcept;

  /// When the last bit of a packet offered now will have left; none if the queue has no room.
  /// `now` never goes backwards.
  std::optional<Timestamp> enqueue(Timestamp now, std::uint64_t wire_bytes);

  /// Bytes that wait at `now`, which never goes backwards, without the packet in service.
  std::uint64_t waiting_bytes(Timestamp now) noexcept {
    leave_queue(now);
    return waiting_bytes_;
  }

  /// No packet of this size offered at `now` or later can have left before.
  Timestamp earliest_finish(Timestamp now, std::uint64_t wire_bytes) const noexcept;

  /// Most bytes that ever waited, without the packet in service.
  std::uint64_t queue_bytes_max() const noexcept { return waiting_bytes_max_; }

 private:
  struct Waiting {
    Timestamp start;  // of its service: until then it is in the queue
    std::uint64_t bytes;
  };
  void leave_queue(Timestamp now) noexcept;
  void advance_finish(std::uint64_t wire_bytes) noexcept;

  std::uint64_t rate_bps_ = 0;
  std::uint64_t queue_bytes_ = 0;
  Timestamp finish_{};          // of everything accepted, rounded down
  std::uint64_t fraction_ = 0;  // what was rounded off, in 1/rate_bps nanoseconds

  // Service time of the last size seen; nearly all packets of a link have one of two sizes, and a
  // 64-bit division costs more than the rest of the model.
  std::uint64_t cached_bytes_ = 0;
  Duration cached_time_{0};
  std::uint64_t cached_fraction_ = 0;

  base::Fifo<Waiting> waiting_;
  std::uint64_t waiting_bytes_ = 0;
  std::uint64_t waiting_bytes_max_ = 0;
};

}  // namespace longhaul::netmodel
