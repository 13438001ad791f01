// SPDX-License-Identifier: Apache-2.0
// One direction of a link as a function: packet sizes and times in, arrivals out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/base/fifo.hpp"
#include "lib/base/random.hpp"
#include "lib/netmodel/bottleneck.hpp"
#include "lib/netmodel/link_config.hpp"
#include "lib/netmodel/loss_model.hpp"
#include "lib/netmodel/random_early_detection.hpp"
#include "lib/netmodel/token_bucket.hpp"

namespace longhaul::netmodel {

/// How a packet ended on the link.
enum class Fate : std::uint8_t {
  delivered,
  too_big,
  queue_dropped,
  down_dropped,
  lost,
  policed,
  red_dropped
};

/// One arrival of a packet.
struct Delivery {
  Timestamp arrival{};
  /// Not before any packet offered earlier, unless the configuration changed in between; then a
  /// plain queue may hold it.
  bool in_order = true;
};

/// What becomes of a packet; the caller keeps the bytes and does it.
struct Outcome {
  Fate fate = Fate::delivered;
  std::uint8_t copies = 0;  ///< arrivals in use: 0, 1 or (duplicated) 2
  std::array<Delivery, 2> deliveries{};
  std::uint64_t corruption = 0;         ///< 0 = intact; else for `damage()`, every copy alike
  bool congestion_experienced = false;  ///< the caller sets CE in the IP header, before any damage
};

class Link {
 public:
  /// All randomness of this link comes from `seed`.
  Link(std::uint64_t seed, const LinkConfig& config);

  /// Changes the link from now on; queue, burst state, randomness and stats go on. Packets on the
  /// wire keep their arrival, so a shorter propagation lets new ones overtake them.
  void configure(const LinkConfig& config);

  /// A packet enters at `now`, which never goes backwards (an earlier time counts as the latest).
  /// `header_bytes`: IP and UDP, see `ip_udp_overhead`. `ecn_capable`: its IP header says ECT(0),
  /// ECT(1) or CE.
  Outcome offer(Timestamp now, std::size_t payload_bytes, std::size_t header_bytes,
                bool ecn_capable = false);

  /// Lower bound for the arrival of a packet that would be offered at `now` or later.
  Timestamp earliest_arrival(Timestamp now, std::size_t payload_bytes,
                             std::size_t header_bytes) const noexcept;

  const LinkConfig& config() const noexcept { return config_; }
  LinkStats stats() const noexcept;

 private:
  Fate admit(Timestamp now, std::uint64_t wire_bytes, bool ecn_capable, bool& marked);
  Outcome gone(Fate fate) noexcept;
  bool is_down(Timestamp time) noexcept;
  Delivery travel(Timestamp sent);
  void count_overtaken(const Outcome& outcome, Timestamp now);

  LinkConfig config_;
  LinkStats stats_{};
  base::Random random_;
  TokenBucket policer_;
  Bottleneck bottleneck_;
  LossModel loss_;
  std::size_t next_down_ = 0;  // first of config_.down that has not ended
  Timestamp latest_offer_{};
  Timestamp latest_in_order_{};  // arrival no ordered packet may undercut
  bool may_reorder_ = false;
  base::Fifo<Timestamp> outrun_;  // ascending arrivals nothing has overtaken so far
};

}  // namespace longhaul::netmodel
