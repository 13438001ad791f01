// SPDX-License-Identifier: Apache-2.0
#include "apps/wan/emulator.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <fstream>

#include "apps/wan/frame.hpp"
#include "apps/wan/plan_events.hpp"

namespace longhaul::apps::wan {

namespace {

// Packets are handed on in steps of so much, as a card coalesces interrupts: a wake-up for each
// packet would take a core from those who are measured.
constexpr Duration kQuantum = std::chrono::microseconds(50);
// Frames carry the kernel's stamp, so they may wait while nothing can be due.
constexpr Duration kPatienceMax = std::chrono::microseconds(500);
// After so long without a frame the thread sleeps until one comes.
constexpr Duration kIdle = std::chrono::milliseconds(2);
constexpr Duration kSignalInterval = std::chrono::milliseconds(20);
// Of an interface that is down already the kernel does not say that it has gone.
constexpr Duration kInterfaceInterval = std::chrono::milliseconds(100);

/// Links differ in their randomness, and one seed gives them all. No multiple of the generator's
/// own step: its sequences would be one, shifted.
std::uint64_t seed_of(std::uint64_t seed, std::size_t lane) {
  return seed ^ ((lane + 1) * 0xd6e8feb86659fd93ULL);
}

/// Packets the machine dropped on the way between interfaces, of all namespaces: the second
/// hexadecimal column of every processor.
std::uint64_t backlog_dropped() {
  std::ifstream file("/proc/net/softnet_stat");
  std::uint64_t sum = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.size() > 9) sum += std::stoull(line.substr(9), nullptr, 16);
  }
  return sum;
}

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

timespec to_timespec(Duration duration) {
  const auto count = std::max<std::int64_t>(duration.count(), 0);
  return {count / 1'000'000'000, count % 1'000'000'000};
}

}  // namespace

Result<Emulator> Emulator::open(const Options& options, std::vector<LinkPlan> plans,
                                std::vector<std::string>& notes) {
  Emulator emulator;
  emulator.seed_ = options.seed.value_or(kDefaultSeed);
  emulator.interval_ = options.interval;
  emulator.duration_ = options.duration;
  std::size_t mtu_max = 0;
  for (LinkPlan& plan : plans) {
    LinkAtWork link;
    for (std::size_t i = 0; i < 2; ++i) {
      auto port = open_port(i == 0 ? plan.a : plan.b, notes);
      if (!port) return tl::unexpected(std::move(port.error()));
      link.ports[i] = std::move(*port);
      mtu_max = std::max(mtu_max, link.ports[i]->mtu());
    }
    if (link.ports[0]->mtu() != link.ports[1]->mtu()) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("{} has MTU {} and {} has {}, packets between would vanish uncounted; "
                      "ip link set {} mtu {}",
                      link.ports[0]->name(), link.ports[0]->mtu(), link.ports[1]->name(),
                      link.ports[1]->mtu(), link.ports[1]->name(), link.ports[0]->mtu()));
    }
    link.plan = std::move(plan);
    emulator.links_.push_back(std::move(link));
  }
  emulator.pool_ =
      std::make_unique<PacketPool>(mtu_max + kEthernetBytes + 2 * kVlanBytes, options.buffer_bytes);
  return emulator;
}

void Emulator::start() {
  start_ = monotonic_now();
  backlog_dropped_at_start_ = backlog_dropped();
  plan_events();
  std::size_t lane = 0;
  for (LinkAtWork& link : links_) {
    for (std::size_t i = 0; i < 2; ++i) {
      link.lanes[i] = std::make_unique<Lane>(link.plan.directions[i], seed_of(seed_, lane++),
                                             start_, *link.ports[i], *link.ports[1 - i], *pool_);
    }
  }
}

void Emulator::plan_events() {
  for (const LinkAtWork& link : links_) {
    for (const PlannedEvent& event : link.plan.events) {
      planned_.push_back(
          {event.at, link.plan.name, std::string(direction_name(event.direction)), event.what});
    }
  }
  std::stable_sort(planned_.begin(), planned_.end(),
                   [](const auto& left, const auto& right) { return left.at < right.at; });
}

Timestamp Emulator::next_planned() const noexcept {
  return next_planned_ < planned_.size() ? start_ + planned_[next_planned_].at : kNever;
}

void Emulator::tell_planned(Timestamp now, const Tell& tell) {
  for (; next_planned() <= now; ++next_planned_) {
    events_.push_back(planned_[next_planned_]);
    tell(events_.back());
  }
}

Result<void> Emulator::run(InterruptWatch& interrupts, const std::function<void()>& look,
                           const Tell& tell) {
  const Timestamp end = duration_ ? start_ + *duration_ : kNever;
  const bool looks = interval_ > Duration{0};
  Timestamp next_look = looks ? start_ + interval_ : kNever;
  Timestamp next_signal_check = start_;
  for (;;) {
    const Clocks clocks = Clocks::read();
    if (clocks.now >= end) return {};
    if (clocks.now >= next_signal_check) {
      if (interrupts.interrupted()) return {};
      next_signal_check = clocks.now + kSignalInterval;
    }
    const bool busy = serve(clocks);
    // What takes time comes after: a frame that arrives between the clock and `serve` would count
    // as earlier than it was.
    tell_planned(clocks.now, tell);
    if (clocks.now >= next_interface_look_) {
      if (auto looked = look_at_interfaces(clocks.now, tell); !looked) return looked;
    }
    if (clocks.now >= next_look) {
      look();
      next_look = std::max(next_look + interval_, clocks.now);
    }
    if (busy) continue;
    const Timestamp until = next_event(end, next_look);
    wait(clocks.now, until, interrupts);
  }
}

/// One round of all lanes; true if a port has more than fits a round.
bool Emulator::serve(const Clocks& clocks) {
  bool more = false;
  for (LinkAtWork& link : links_) {
    for (auto& lane : link.lanes) {
      lane->advance(clocks.now);
      const std::size_t frames = lane->receive(clocks);
      if (frames > 0) latest_frame_ = clocks.now;
      const std::size_t sent = lane->deliver(monotonic_now());
      more |= frames == Lane::kBurst || sent == Lane::kBurst;
    }
  }
  return more;
}

Timestamp Emulator::next_event(Timestamp end, Timestamp next_look) const noexcept {
  Timestamp next = std::min({end, next_look, next_interface_look_, next_planned()});
  for (const LinkAtWork& link : links_) {
    for (const auto& lane : link.lanes)
      next = std::min({next, lane->first_due(), lane->next_change()});
  }
  return next;
}

void Emulator::wait(Timestamp now, Timestamp until, InterruptWatch& interrupts) {
  if (now - latest_frame_ > kIdle) {
    wait_for_frames(now, until, interrupts);
    return;
  }
  Duration patience = kPatienceMax;
  for (const LinkAtWork& link : links_) {
    for (const auto& lane : link.lanes) patience = std::min(patience, lane->patience());
  }
  // Never less than the quantum, never longer than frames may wait.
  sleep_until(std::max(now + kQuantum, std::min(until, now + patience)));
}

void Emulator::wait_for_frames(Timestamp now, Timestamp until, InterruptWatch& interrupts) {
  std::vector<pollfd> fds{{interrupts.fd(), POLLIN, 0}};
  for (const LinkAtWork& link : links_) {
    for (const auto& port : link.ports) fds.push_back({port->fd(), POLLIN, 0});
  }
  const timespec timeout = to_timespec(until - now);
  ::ppoll(fds.data(), fds.size(), &timeout, nullptr);
  const bool failed = std::any_of(fds.begin(), fds.end(), [](const pollfd& fd) {
    return (fd.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
  });
  if (failed) next_interface_look_ = now;
}

Result<void> Emulator::look_at_interfaces(Timestamp now, const Tell& tell) {
  next_interface_look_ = now + kInterfaceInterval;
  for (LinkAtWork& link : links_) {
    for (std::size_t i = 0; i < link.ports.size(); ++i) {
      const auto state = link.ports[i]->look();
      if (!state) return tl::unexpected(state.error());
      std::string what = link.watches[i].changed(link.ports[i]->name(), *state, now);
      if (what.empty()) continue;
      events_.push_back({now - start_, link.plan.name, {}, std::move(what)});
      tell(events_.back());
    }
  }
  return {};
}

Report Emulator::report() {
  Report report;
  report.seed = seed_;
  report.seconds = std::chrono::duration<double>(monotonic_now() - start_).count();
  report.cpu_seconds = cpu_seconds();
  report.buffer_bytes = pool_->bytes();
  report.host_backlog_dropped = backlog_dropped() - backlog_dropped_at_start_;
  for (LinkAtWork& link : links_) {
    report.links.push_back({link.plan.name,
                            link.plan.a,
                            link.plan.b,
                            {link.lanes[0]->stats(), link.lanes[1]->stats()}});
  }
  report.events = events_;
  return report;
}

}  // namespace longhaul::apps::wan
