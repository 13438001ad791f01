// SPDX-License-Identifier: Apache-2.0
#include "lib/path/mtu_discovery.hpp"

#include <algorithm>

#include "lib/base/assert.hpp"

namespace longhaul::path {
namespace {

// RFC 8899 §5.1.2.
constexpr std::uint32_t kMaxProbes = 3;
// The search ends when the largest size known to pass and the smallest known not to are this close.
constexpr std::uint32_t kGranularity = 16;
// UDP payload of the commonest path: Ethernet's 1500 bytes over IPv4 and over IPv6.
constexpr std::uint32_t kEthernetIpv4 = 1472;
constexpr std::uint32_t kEthernetIpv6 = 1452;

// RFC 8899 §5.1.1 has 600 s, so that idle paths are not bothered. A path under a long transfer that
// grows from 1500 to 9000 gains 4 % of goodput and five sixths of the packets at once, and a search
// that finds nothing new costs six packets: so look again soon, then ever more rarely.
constexpr Duration kRaiseFirst = std::chrono::seconds(5);
constexpr Duration kRaiseMax = std::chrono::seconds(600);

// Fewer lost packets than this are no evidence; at 1 % loss eight in a row happen once in 10^16.
constexpr std::uint32_t kSuspiciousLosses = 8;
// So many of them must have left between two small packets that passed. An outage loses small and
// large alike, so its losses all precede the first packet that passes again; one small packet alone
// may have slipped through between two bursts.
constexpr std::uint32_t kLossesWhileAlive = 3;

constexpr Timestamp kLongAgo = Timestamp::min();

}  // namespace

MtuDiscovery::MtuDiscovery(const MtuConfig& config)
    : base_(config.base),
      max_(std::max(config.max, config.base)),
      verified_(config.base),
      reported_(config.base),
      failed_(max_ + 1),
      raise_interval_(kRaiseFirst) {
  LONGHAUL_ASSERT(config.base <= config.max);
  while (((max_ - base_) >> class_shift_) >= kClasses) ++class_shift_;
  newest_acked_.fill(kLongAgo);
  start_search({max_, kEthernetIpv4, kEthernetIpv6, 0});
  searching_ = candidate().has_value();
}

bool MtuDiscovery::take_changed() noexcept {
  const bool changed = verified_ != reported_;
  reported_ = verified_;
  return changed;
}

void MtuDiscovery::start_search(std::array<std::uint32_t, 4> plan) {
  searching_ = true;
  plan_ = plan;
  probe_size_ = 0;
  probes_lost_ = 0;
  late_size_ = 0;
  probe_deadline_ = kNever;
  raise_at_ = kNever;
}

// The next size worth a probe: what the plan names first, then the middle of what is unknown.
std::optional<std::uint32_t> MtuDiscovery::candidate() const noexcept {
  for (const std::uint32_t size : plan_) {
    if (size > verified_ && size < failed_) return size;
  }
  if (failed_ - verified_ <= kGranularity || verified_ >= max_) return std::nullopt;
  return verified_ + (failed_ - verified_) / 2;
}

// After what is known has changed: search on, or wait for the raise timer.
void MtuDiscovery::settle(Timestamp now) {
  if (!searching_ || candidate()) return;
  searching_ = false;
  if (verified_ < max_) raise_at_ = now + raise_interval_;
}

std::optional<std::uint32_t> MtuDiscovery::probe_due(Timestamp) const noexcept {
  if (!searching_ || probe_size_ != 0) return std::nullopt;
  return candidate();
}

void MtuDiscovery::on_probe_sent(Timestamp now, std::uint32_t size, Duration pto) {
  LONGHAUL_ASSERT(probe_size_ == 0);
  probe_size_ = size;
  probe_sent_ = now;
  probe_deadline_ = now + pto;
}

void MtuDiscovery::on_probe_acked(Timestamp now, std::uint32_t size) {
  const bool in_flight = size == probe_size_;
  if (size == 0 || (!in_flight && size != late_size_)) return;
  if (in_flight) {
    probe_size_ = 0;
    probe_deadline_ = kNever;
    explain(class_of(size), probe_sent_);
  }
  late_size_ = 0;
  probes_lost_ = 0;
  const std::uint32_t passed = std::min(size, max_);
  verified_ = std::max(verified_, passed);
  if (failed_ <= verified_) {
    // It was given up too early, so nothing is known of larger sizes either.
    failed_ = max_ + 1;
    raise_at_ = kNever;
    searching_ = true;
  }
  settle(now);
}

void MtuDiscovery::on_probe_lost(Timestamp now, std::uint32_t size) {
  if (size == 0 || size != probe_size_) return;
  probe_size_ = 0;
  probe_deadline_ = kNever;
  if (size <= verified_) return;  // a larger one was acknowledged meanwhile
  if (++probes_lost_ >= kMaxProbes) take_as_failed(now, size);
}

void MtuDiscovery::take_as_failed(Timestamp now, std::uint32_t size) {
  probes_lost_ = 0;
  late_size_ = size;
  failed_ = std::min(failed_, size);
  settle(now);
}

void MtuDiscovery::on_too_big_locally(Timestamp now, std::uint32_t size) {
  if (size <= base_) return;  // there is nothing below base to fall to
  if (size == probe_size_) {
    probe_size_ = 0;
    probe_deadline_ = kNever;
  }
  if (size <= verified_) {
    fall(now, size);
    return;
  }
  take_as_failed(now, size);
  late_size_ = 0;
}

void MtuDiscovery::set_max(std::uint32_t max) {
  if (max >= max_) return;
  max_ = max;
  base_ = std::min(base_, max);
  verified_ = std::min(verified_, max);
  failed_ = std::min(failed_, max + 1);
  for (std::uint32_t& size : plan_) size = std::min(size, max);
  if (verified_ >= max_) {
    searching_ = false;
    raise_at_ = kNever;
  }
}

// The size in use does not pass (any more): BASE_PLPMTU, and upward again below what failed.
void MtuDiscovery::fall(Timestamp now, std::uint32_t failed) {
  verified_ = base_;
  failed_ = std::max(failed, base_ + 1);
  forget_suspicions();
  // A path that keeps flapping is asked ever more rarely; one that held for long starts afresh.
  const bool flapping = fell_at_ && now - *fell_at_ < kRaiseMax;
  raise_interval_ = flapping ? std::min(raise_interval_ * 2, kRaiseMax) : kRaiseFirst;
  fell_at_ = now;
  start_search({kEthernetIpv4, kEthernetIpv6, 0, 0});
  settle(now);
}

void MtuDiscovery::handle_timeout(Timestamp now) {
  if (probe_size_ != 0 && now >= probe_deadline_) on_probe_lost(now, probe_size_);
  if (!searching_ && now >= raise_at_) {
    raise_interval_ = std::min(raise_interval_ * 2, kRaiseMax);
    failed_ = max_ + 1;
    // If neither the largest nor the next larger size passes, nothing has grown.
    start_search({max_, verified_ + kGranularity, kEthernetIpv4, kEthernetIpv6});
  }
}

Timestamp MtuDiscovery::next_timeout() const noexcept {
  return std::min(probe_deadline_, raise_at_);
}

std::size_t MtuDiscovery::class_of(std::uint32_t size) const noexcept {
  const std::size_t index = (size - base_) >> class_shift_;
  return std::min(index, kClasses - 1);
}

void MtuDiscovery::on_packet_acked(Timestamp, std::uint32_t size, Timestamp sent_at) {
  if (size > base_) {
    explain(class_of(size), sent_at);
    return;
  }
  newest_small_acked_ = std::max(newest_small_acked_, sent_at);
  if (suspicious_losses_ != 0 && alive_since_ == kNever && sent_at > first_suspicious()) {
    alive_since_ = sent_at;
  }
}

// A packet of this class passed: what was lost of it and of smaller ones before was chance.
void MtuDiscovery::explain(std::size_t size_class, Timestamp sent_at) {
  Timestamp& newest = newest_acked_[size_class];
  newest = std::max(newest, sent_at);
  if (suspicious_losses_ == 0) return;
  for (std::size_t i = 0; i <= size_class; ++i) {
    Suspicion& suspicion = suspicions_[i];
    if (suspicion.losses == 0 || suspicion.first_sent >= sent_at) continue;
    suspicious_losses_ -= suspicion.losses;
    suspicion = {};
  }
  if (alive_since_ > first_suspicious()) return;
  restart_alive(newest_small_acked_ > first_suspicious() ? newest_small_acked_ : kNever);
}

void MtuDiscovery::restart_alive(Timestamp since) noexcept {
  alive_since_ = since;
  losses_while_alive_ = 0;
  alive_until_ = kNever;
}

void MtuDiscovery::on_packet_lost(Timestamp now, std::uint32_t size, Timestamp sent_at,
                                  Duration smoothed_rtt) {
  if (size <= base_) {
    // Small packets do not pass either: what was lost about then was not lost for its size.
    if (sent_at > alive_since_) restart_alive(kNever);
    return;
  }
  // Larger than the size in use: left before it shrank, and proves nothing of it.
  if (size > verified_) return;
  const std::size_t size_class = class_of(size);
  for (std::size_t i = size_class; i < kClasses; ++i) {
    if (newest_acked_[i] > sent_at) return;
  }
  Suspicion& suspicion = suspicions_[size_class];
  if (suspicion.losses == 0) suspicion.first_sent = suspicion.last_sent = sent_at;
  suspicion.first_sent = std::min(suspicion.first_sent, sent_at);
  suspicion.last_sent = std::max(suspicion.last_sent, sent_at);
  ++suspicion.losses;
  ++suspicious_losses_;
  if (alive_since_ == kNever && newest_small_acked_ > first_suspicious()) {
    alive_since_ = newest_small_acked_;
  }
  if (sent_at > alive_since_ && ++losses_while_alive_ == kLossesWhileAlive) alive_until_ = sent_at;
  if (!is_black_hole(smoothed_rtt)) return;
  ++black_holes_;
  fall(now, verified_);
}

bool MtuDiscovery::is_black_hole(Duration smoothed_rtt) const noexcept {
  if (suspicious_losses_ < kSuspiciousLosses || newest_small_acked_ <= alive_until_) return false;
  Timestamp last = kLongAgo;
  for (const Suspicion& suspicion : suspicions_) {
    if (suspicion.losses != 0) last = std::max(last, suspicion.last_sent);
  }
  return last - first_suspicious() >= smoothed_rtt;
}

Timestamp MtuDiscovery::first_suspicious() const noexcept {
  Timestamp first = kNever;
  for (const Suspicion& suspicion : suspicions_) {
    if (suspicion.losses != 0) first = std::min(first, suspicion.first_sent);
  }
  return first;
}

void MtuDiscovery::forget_suspicions() noexcept {
  suspicions_ = {};
  suspicious_losses_ = 0;
  restart_alive(kNever);
}

}  // namespace longhaul::path
