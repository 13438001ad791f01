// SPDX-License-Identifier: Apache-2.0
#include "apps/wan/report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/common/units.hpp"

namespace longhaul::apps::wan {

namespace {

constexpr std::array<std::string_view, 2> kDirections{"forward", "backward"};
// The promise is a 99th percentile below a millisecond.
constexpr std::uint64_t kLateShare = 100;
// A share of fewer packets than this says nothing, unless so many of them were late.
constexpr std::uint64_t kJudgedPackets = 100;
constexpr std::uint64_t kJudgedLate = 20;

/// What happened to packets between two looks, in words; empty if nothing but delivery.
std::string incidents(const DirectionStats& before, const DirectionStats& now) {
  std::string text;
  for (const CounterName& counter : counter_names()) {
    const std::uint64_t more = counter.value(now) - counter.value(before);
    if (counter.told && more > 0) text += fmt::format("  {} {}", counter.name, more);
  }
  return text;
}

double seconds_of(const Event& event) {
  return std::chrono::duration<double>(event.at).count();
}

bool late_too_often(const EmulatorStats& stats) {
  const bool enough = stats.sent >= kJudgedPackets || stats.late_over_1ms >= kJudgedLate;
  return enough && stats.late_over_1ms * kLateShare > stats.sent;
}

void add_reason(std::vector<std::string>& reasons, std::string_view where, std::uint64_t count,
                std::string_view what) {
  if (count > 0) reasons.push_back(fmt::format("{}: {} {}", where, count, what));
}

}  // namespace

std::vector<std::string> reasons_of_bottleneck(const Report& report) {
  std::vector<std::string> reasons;
  for (const LinkReport& link : report.links) {
    for (std::size_t i = 0; i < kDirections.size(); ++i) {
      const EmulatorStats& stats = link.directions[i].emulator;
      const std::string where = fmt::format("{} {}", link.name, kDirections[i]);
      add_reason(reasons, where, stats.kernel_dropped,
                 "packets dropped by the kernel before they were read");
      add_reason(reasons, where, stats.buffer_dropped,
                 "packets dropped for want of memory; give --buffer more");
      add_reason(reasons, where, stats.send_failed,
                 "packets refused by the interface they leave by");
      if (late_too_often(stats)) {
        add_reason(reasons, where, stats.late_over_1ms,
                   fmt::format("of {} packets sent more than 1 ms late", stats.sent));
      }
    }
  }
  add_reason(reasons, "this machine", report.host_backlog_dropped,
             "packets dropped between interfaces (net.core.netdev_max_backlog)");
  return reasons;
}

std::vector<std::string> faults_of_senders(const Report& report) {
  std::vector<std::string> faults;
  for (const LinkReport& link : report.links) {
    for (std::size_t i = 0; i < kDirections.size(); ++i) {
      const EmulatorStats& stats = link.directions[i].emulator;
      if (stats.super_frames + stats.no_checksum == 0) continue;
      faults.push_back(fmt::format(
          "{} {}: dropped {} packets larger than the MTU and {} without checksum, which no cable "
          "carries; at the other end of {}: ethtool -K IFACE tx off tso off gso off gro off "
          "tx-udp-segmentation off",
          link.name, kDirections[i], stats.super_frames, stats.no_checksum,
          i == 0 ? link.a : link.b));
    }
  }
  return faults;
}

std::string event_text(const Event& event) {
  const std::string direction = event.direction.empty() ? "" : " " + event.direction;
  return fmt::format("[{:7.1f} s] {}{}: {}\n", seconds_of(event), event.link, direction,
                     event.what);
}

std::string interval_text(const Report& before, const Report& now) {
  std::string text;
  const double seconds = now.seconds - before.seconds;
  for (std::size_t l = 0; l < now.links.size(); ++l) {
    for (std::size_t i = 0; i < kDirections.size(); ++i) {
      const DirectionStats& old = before.links[l].directions[i];
      const DirectionStats& stats = now.links[l].directions[i];
      if (stats.link.offered == old.link.offered && stats.emulator.sent == old.emulator.sent)
        continue;
      const auto bits =
          8 * static_cast<double>(stats.emulator.sent_bytes - old.emulator.sent_bytes);
      text += fmt::format("[{:7.1f} s] {} {:<8} in {:>8}  out {:>8}  {}{}\n", now.seconds,
                          now.links[l].name, kDirections[i], stats.link.offered - old.link.offered,
                          stats.emulator.sent - old.emulator.sent, format_rate(bits / seconds),
                          incidents(old, stats));
    }
  }
  return text;
}

std::string summary_text(const Report& report) {
  std::string text = fmt::format("--- {:.1f} s, seed {}, {:.1f} s of processor time\n",
                                 report.seconds, report.seed, report.cpu_seconds);
  for (const LinkReport& link : report.links) {
    for (std::size_t i = 0; i < kDirections.size(); ++i) {
      const DirectionStats& stats = link.directions[i];
      text +=
          fmt::format("{} {}: offered {}  delivered {}{}  latest {:.3f} ms\n", link.name,
                      kDirections[i], stats.link.offered, stats.link.delivered,
                      incidents({}, stats), static_cast<double>(stats.emulator.late_max_ns) / 1e6);
    }
  }
  const auto reasons = reasons_of_bottleneck(report);
  for (const std::string& reason : reasons) text += fmt::format("bottleneck: {}\n", reason);
  if (!reasons.empty()) text += "The emulator, not the link, was the bottleneck.\n";
  for (const std::string& fault : faults_of_senders(report)) text += fault + '\n';
  return text;
}

std::string json_text(const Report& report) {
  nlohmann::ordered_json links = nlohmann::ordered_json::array();
  for (const LinkReport& link : report.links) {
    nlohmann::ordered_json entry{{"name", link.name}, {"a", link.a}, {"b", link.b}};
    for (std::size_t i = 0; i < kDirections.size(); ++i) {
      for (const CounterName& counter : counter_names())
        entry[kDirections[i]][counter.name] = counter.value(link.directions[i]);
    }
    links.push_back(std::move(entry));
  }
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  for (const Event& event : report.events) {
    nlohmann::ordered_json entry{{"seconds", seconds_of(event)}, {"link", event.link}};
    if (!event.direction.empty()) entry["direction"] = event.direction;
    entry["what"] = event.what;
    events.push_back(std::move(entry));
  }
  const auto reasons = reasons_of_bottleneck(report);
  const nlohmann::ordered_json root{
      {"seed", report.seed},
      {"seconds", report.seconds},
      {"cpu_seconds", report.cpu_seconds},
      {"buffer_bytes", report.buffer_bytes},
      {"host_backlog_dropped", report.host_backlog_dropped},
      {"links", std::move(links)},
      {"events", std::move(events)},
      {"bottleneck", reasons.empty() ? "link" : "emulator"},
      {"bottleneck_reasons", reasons},
      {"sender_faults", faults_of_senders(report)},
  };
  return root.dump(2) + '\n';
}

}  // namespace longhaul::apps::wan
