// SPDX-License-Identifier: Apache-2.0
// DPLPMTUD (RFC 8899) of one path: what size to use, what size to probe, when a size stopped
// working. All sizes are bytes of UDP payload; the words are the RFC's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "longhaul/time.hpp"

namespace longhaul::path {

struct MtuConfig {
  std::uint32_t base = 1252;  ///< BASE_PLPMTU, assumed to work
  std::uint32_t max = 8972;   ///< MAX_PLPMTU, never exceeded; at least `base`
};

/// Searches for the largest size that passes and falls back when it stops passing. Sans-IO: the
/// owner sends the probes as padded packets of their own and reports every packet's fate.
class MtuDiscovery {
 public:
  explicit MtuDiscovery(const MtuConfig& config);

  /// PLPMTU: the largest datagram to send now.
  std::uint32_t max_datagram() const noexcept { return verified_; }
  /// True once after `max_datagram()` changed.
  bool take_changed() noexcept;
  /// Times a working size was found to have stopped working.
  std::uint32_t black_holes() const noexcept { return black_holes_; }

  /// Size of a probe to send now; none while one is in flight or no search is due.
  std::optional<std::uint32_t> probe_due(Timestamp now) const noexcept;
  /// The probe counts as lost unless it is acknowledged within `pto`.
  void on_probe_sent(Timestamp now, std::uint32_t size, Duration pto);
  void on_probe_acked(Timestamp now, std::uint32_t size);
  /// Known to be lost before its `pto` has passed.
  void on_probe_lost(Timestamp now, std::uint32_t size);
  /// The local interface refused a datagram of this size, probe or not (EMSGSIZE).
  void on_too_big_locally(Timestamp now, std::uint32_t size);
  /// Lowers MAX_PLPMTU, as the peer's `max_datagram` does; a larger value changes nothing.
  void set_max(std::uint32_t max);

  // Black-hole detection: every ack-eliciting packet that is not a probe, whatever its size.
  void on_packet_acked(Timestamp now, std::uint32_t size, Timestamp sent_at);
  void on_packet_lost(Timestamp now, std::uint32_t size, Timestamp sent_at, Duration smoothed_rtt);

  void handle_timeout(Timestamp now);
  Timestamp next_timeout() const noexcept;

 private:
  static constexpr std::size_t kClasses = 16;

  // Losses of one size class that no later success has explained yet.
  struct Suspicion {
    std::uint32_t losses = 0;
    Timestamp first_sent{};
    Timestamp last_sent{};
  };

  void start_search(std::array<std::uint32_t, 4> plan);
  void settle(Timestamp now);
  std::optional<std::uint32_t> candidate() const noexcept;
  void take_as_failed(Timestamp now, std::uint32_t size);
  void fall(Timestamp now, std::uint32_t failed);
  void explain(std::size_t size_class, Timestamp sent_at);
  void restart_alive(Timestamp since) noexcept;
  void forget_suspicions() noexcept;
  bool is_black_hole(Duration smoothed_rtt) const noexcept;
  std::size_t class_of(std::uint32_t size) const noexcept;
  Timestamp first_suspicious() const noexcept;

  std::uint32_t base_;
  std::uint32_t max_;
  std::uint32_t verified_;
  std::uint32_t reported_;
  std::uint32_t failed_;  // smallest size taken not to pass; max_ + 1 at first

  bool searching_ = false;
  std::array<std::uint32_t, 4> plan_{};  // sizes to try before bisection, in order; 0 = none
  std::uint32_t probe_size_ = 0;         // in flight; 0 = none
  std::uint32_t probes_lost_ = 0;        // of the candidate
  std::uint32_t late_size_ = 0;          // given up last; a late acknowledgement still counts
  Timestamp probe_sent_{};
  Timestamp probe_deadline_ = kNever;
  Timestamp raise_at_ = kNever;
  Duration raise_interval_;
  std::optional<Timestamp> fell_at_;  // last time a working size stopped working

  std::uint32_t class_shift_ = 0;
  std::array<Timestamp, kClasses> newest_acked_{};  // send time, per class above base
  Timestamp newest_small_acked_ = Timestamp::min();
  Timestamp alive_since_ = kNever;  // a small packet sent then, amid the losses, passed
  std::uint32_t losses_while_alive_ = 0;
  Timestamp alive_until_ = kNever;  // a small packet sent later than this has to pass, too
  std::array<Suspicion, kClasses> suspicions_{};
  std::uint32_t suspicious_losses_ = 0;
  std::uint32_t black_holes_ = 0;
};

}  // namespace longhaul::path
