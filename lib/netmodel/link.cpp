// SPDX-License-Identifier: Apache-2.0
#include "lib/netmodel/link.hpp"

#include <algorithm>

#include "lib/base/assert.hpp"

namespace longhaul::netmodel {

namespace {

// Sorted and merged, so that one cursor finds the span a moment falls into.
std::vector<DownTime> merged(std::vector<DownTime> spans) {
  std::erase_if(spans, [](const DownTime& span) { return span.from >= span.to; });
  std::sort(spans.begin(), spans.end(),
            [](const DownTime& a, const DownTime& b) { return a.from < b.from; });
  std::vector<DownTime> result;
  for (const DownTime& span : spans) {
    if (!result.empty() && span.from <= result.back().to) {
      result.back().to = std::max(result.back().to, span.to);
    } else {
      result.push_back(span);
    }
  }
  return result;
}

}  // namespace

Link::Link(std::uint64_t seed, const LinkConfig& config) : random_(seed) {
  configure(config);
}

void Link::configure(const LinkConfig& config) {
  LONGHAUL_ASSERT(config.propagation >= Duration{0} && config.jitter >= Duration{0} &&
                  config.reorder_delay >= Duration{0});
  LONGHAUL_ASSERT(config.red.max_bytes == 0 || config.red.max_bytes > config.red.min_bytes);
  config_ = config;
  config_.down = merged(config.down);
  next_down_ = 0;
  policer_.configure(config.policer, latest_offer_);
  bottleneck_.configure(config.rate_bps, config.queue_bytes);
  loss_.configure(config.loss, config.burst);
  latest_in_order_ = Timestamp{};
  may_reorder_ = (config.jitter_reorders && config.jitter > Duration{0}) ||
                 (config.reorder_probability > 0 && config.reorder_delay > Duration{0});
  outrun_.clear();
}

Outcome Link::offer(Timestamp now, std::size_t payload_bytes, std::size_t header_bytes,
                    bool ecn_capable) {
  now = latest_offer_ = std::max(now, latest_offer_);
  ++stats_.offered;
  const std::size_t ip_bytes = payload_bytes + header_bytes;
  if (ip_bytes > config_.mtu) return gone(Fate::too_big);
  const std::uint64_t wire_bytes = ip_bytes + config_.framing_bytes;
  Outcome outcome;
  outcome.fate = admit(now, wire_bytes, ecn_capable, outcome.congestion_experienced);
  if (outcome.fate != Fate::delivered) return gone(outcome.fate);
  const std::optional<Timestamp> sent = bottleneck_.enqueue(now, wire_bytes);
  if (!sent) return gone(Fate::queue_dropped);
  stats_.wire_bytes += wire_bytes;
  if (outcome.congestion_experienced) ++stats_.ecn_marked;
  if (is_down(*sent)) return gone(Fate::down_dropped);
  if (loss_.lost(random_)) return gone(Fate::lost);
  if (payload_bytes > 0 && random_.chance(config_.corrupt)) {
    ++stats_.corrupted;
    outcome.corruption = random_.next() | 1;
  }
  const bool twice = random_.chance(config_.duplicate);
  outcome.copies = twice ? 2 : 1;
  outcome.deliveries[0] = travel(*sent);
  if (twice) {
    ++stats_.duplicated;
    outcome.deliveries[1] = travel(*sent);
  }
  stats_.delivered += outcome.copies;
  if (may_reorder_) count_overtaken(outcome, now);
  return outcome;
}

// What stands in front of the queue; `marked` says that the packet goes in with a mark.
Fate Link::admit(Timestamp now, std::uint64_t wire_bytes, bool ecn_capable, bool& marked) {
  if (!policer_.take(now, wire_bytes)) return Fate::policed;
  if (config_.red.max_bytes == 0) return Fate::delivered;
  if (!red_hits(config_.red, bottleneck_.waiting_bytes(now), random_)) return Fate::delivered;
  marked = config_.red.ecn && ecn_capable;
  return marked ? Fate::delivered : Fate::red_dropped;
}

Outcome Link::gone(Fate fate) noexcept {
  switch (fate) {
    case Fate::delivered:
      break;
    case Fate::too_big:
      ++stats_.too_big;
      break;
    case Fate::queue_dropped:
      ++stats_.queue_dropped;
      break;
    case Fate::down_dropped:
      ++stats_.down_dropped;
      break;
    case Fate::lost:
      ++stats_.lost;
      break;
    case Fate::policed:
      ++stats_.policed;
      break;
    case Fate::red_dropped:
      ++stats_.red_dropped;
      break;
  }
  Outcome outcome;
  outcome.fate = fate;
  return outcome;
}

Timestamp Link::earliest_arrival(Timestamp now, std::size_t payload_bytes,
                                 std::size_t header_bytes) const noexcept {
  const std::uint64_t wire_bytes = payload_bytes + header_bytes + config_.framing_bytes;
  return bottleneck_.earliest_finish(now, wire_bytes) + config_.propagation;
}

LinkStats Link::stats() const noexcept {
  LinkStats stats = stats_;
  stats.queue_bytes_max = bottleneck_.queue_bytes_max();
  return stats;
}

bool Link::is_down(Timestamp time) noexcept {
  const auto& down = config_.down;
  while (next_down_ < down.size() && down[next_down_].to <= time) ++next_down_;
  return next_down_ < down.size() && down[next_down_].from <= time;
}

Delivery Link::travel(Timestamp sent) {
  Timestamp arrival = sent + config_.propagation;
  if (config_.jitter > Duration{0}) {
    const auto bound = static_cast<std::uint64_t>(config_.jitter.count()) + 1;
    arrival += Duration{static_cast<std::int64_t>(random_.below(bound))};
  }
  if (random_.chance(config_.reorder_probability)) {
    return {arrival + config_.reorder_delay, false};
  }
  if (config_.jitter_reorders) return {arrival, config_.jitter == Duration{0}};
  latest_in_order_ = std::max(latest_in_order_, arrival);
  return {latest_in_order_, true};
}

// Every packet that this one overtakes counts once: it leaves `outrun_`, which therefore stays
// ascending and holds only what can still be overtaken for the first time.
void Link::count_overtaken(const Outcome& outcome, Timestamp now) {
  while (!outrun_.empty() && outrun_.front() <= now) outrun_.pop_front();
  Timestamp first = outcome.deliveries[0].arrival;
  Timestamp second = outcome.copies == 2 ? outcome.deliveries[1].arrival : first;
  if (second < first) std::swap(first, second);
  while (!outrun_.empty() && outrun_.back() > first) {
    outrun_.pop_back();
    ++stats_.reordered;
  }
  outrun_.push_back(first);
  if (outcome.copies == 2) outrun_.push_back(second);
}

}  // namespace longhaul::netmodel
