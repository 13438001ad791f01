// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "longhaul/time.hpp"

namespace longhaul::connection {

/// Heartbeats out, silence in: who is still there. A question that stays unanswered is asked again
/// sooner than the next heartbeat: on a line that loses bursts, five of them can be one burst.
class Liveness {
 public:
  Liveness(Timestamp now, Duration heartbeat, Duration peer_timeout) noexcept
      : heartbeat_(heartbeat), peer_timeout_(peer_timeout), last_heard_(now), last_asked_(now) {}

  /// The peer waits no longer than `peer_timeout`: five heartbeats have to fit.
  void on_peer_timeout(Duration peer_timeout) noexcept {
    if (peer_timeout.count() > 0 && peer_timeout / 5 < heartbeat_) heartbeat_ = peer_timeout / 5;
  }
  void on_heard(Timestamp now) noexcept { last_heard_ = now; }
  /// Something ack-eliciting left, small enough for any path.
  void on_asked(Timestamp now) noexcept { last_asked_ = now; }

  /// `patience`: how long an answer may take.
  bool heartbeat_due(Timestamp now, Duration patience) const noexcept {
    return now >= beat_at(patience);
  }
  bool lost(Timestamp now) const noexcept { return now >= lost_at(); }
  Timestamp lost_at() const noexcept { return last_heard_ + peer_timeout_; }
  Duration silence(Timestamp now) const noexcept { return now - last_heard_; }
  Timestamp next_timeout(Duration patience) const noexcept {
    const Timestamp beat = beat_at(patience);
    return beat < lost_at() ? beat : lost_at();
  }

 private:
  Timestamp beat_at(Duration patience) const noexcept {
    const bool unanswered = last_asked_ > last_heard_ && patience < heartbeat_;
    return last_asked_ + (unanswered ? patience : heartbeat_);
  }

  Duration heartbeat_;
  Duration peer_timeout_;
  Timestamp last_heard_;
  Timestamp last_asked_;
};

}  // namespace longhaul::connection
