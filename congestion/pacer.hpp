// SPDX-License-Identifier: Apache-2.0
// When packets leave: a virtual clock that advances by each packet's time on a line of the pacing
// rate.
#pragma once

#include <cstdint>

#include "congestion/arithmetic.hpp"
#include "longhaul/congestion.hpp"
#include "longhaul/time.hpp"

namespace longhaul::congestion {

struct PacerConfig {
  /// Bytes of UDP payload of a full packet.
  std::uint64_t max_datagram = 1200;
  /// A burst after idle time is what the rate carries in this time …
  Duration burst_time = std::chrono::microseconds(50);
  /// … but no more bytes than this, and no fewer than ten datagrams (RFC 9002 §7.7) as long as
  /// these take the rate no more than `slow_burst_time`, and two in any case.
  std::uint64_t burst_bytes_max = 256 * 1024;
  Duration slow_burst_time = std::chrono::milliseconds(4);
  /// A sender that is late with packets it had ready makes up for at most this much time (or for a
  /// burst, if that is longer). A worker that shares its core is descheduled for milliseconds:
  /// longer keeps its average, shorter spares shallow buffers.
  Duration catch_up = std::chrono::milliseconds(1);
  /// At low rates a worker with many connections comes by less often than that: then it makes up
  /// for this many bytes, though for no more than four times `catch_up`.
  std::uint64_t catch_up_bytes = 64 * 1024;
};

/// The state is one moment, `next departure`. A packet that leaves moves it on by bytes / rate; the
/// part below a nanosecond is carried exactly, so the long-run rate is exact at any rate. A moment
/// in the past is credit: packets leave at once until it is used up. Credit is bounded by the burst
/// after idle time, by `catch_up` while there was always something to send.
///
/// Use, with a horizon of at least a burst, so that a visit pays:
///
///     if (pacer.ready(now, Duration::zero()))            // due: wake-ups stay rare …
///       while (has_packet && pacer.ready(now, horizon))  // … and bring a batch each
///         departure = pacer.departure(now), …, pacer.on_sent(departure, bytes);
///     if (stopped for any reason but the pacer) pacer.on_idle();
///     else wake at pacer.next_send_time(now);
class Pacer {
 public:
  explicit Pacer(BitsPerSecond rate, const PacerConfig& config = {});

  /// From now on. What the last packet still has to wait is rescaled to the new rate.
  void set_rate(BitsPerSecond rate);
  void set_max_datagram(std::uint64_t max_datagram);
  BitsPerSecond rate() const { return rate_; }
  /// Most bytes that leave at once after idle time.
  std::uint64_t burst_bytes() const { return burst_bytes_; }
  /// What such a burst takes at the rate.
  Duration burst_duration() const { return burst_duration_; }

  /// When a packet may leave, were it handed over now; ≥ now.
  Timestamp departure(Timestamp now) const { return now > next_ ? now : next_; }
  /// May a packet leave by now + horizon?
  bool ready(Timestamp now, Duration horizon) const { return next_ <= later(now, horizon); }
  /// When to try again; ≥ now. The same moment as `departure`.
  Timestamp next_send_time(Timestamp now) const { return departure(now); }

  /// A packet of `bytes` UDP payload leaves at `departure` (as returned by `departure(now)`).
  void on_sent(Timestamp departure, std::uint64_t bytes);
  /// A packet that does not wait (ACK, probe, close) leaves at `now`. It delays the packets after
  /// it, though only to now + catch_up + one burst, so that no flood of ACKs starves them for ever.
  void on_sent_unpaced(Timestamp now, std::uint64_t bytes);
  /// The sender stopped for another reason than pacing: nothing to send, window full. Until the
  /// next packet, time is idle time.
  void on_idle() { idle_ = true; }

 private:
  void update_limits();
  void charge(Timestamp departure, std::uint64_t bytes, Duration credit_max);
  Duration time_of(std::uint64_t bytes) const;

  PacerConfig config_;
  BitsPerSecond rate_;
  std::uint64_t burst_bytes_ = 0;
  Duration burst_duration_{};
  Duration burst_credit_{};     // time of a burst, less its last packet
  Duration catch_up_credit_{};  // at least burst_credit_
  Timestamp next_ = Timestamp::min();
  std::uint64_t remainder_ = 0;  // of next_, in 1/rate_ ns; < rate_
  Timestamp last_departure_ = Timestamp::min();
  std::uint64_t last_remainder_ = 0;  // of last_departure_, as remainder_; ≤ remainder_ if equal
  bool idle_ = true;
};

}  // namespace longhaul::congestion
