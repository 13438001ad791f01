// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/interrupt.hpp"
#include "apps/wan/interface_watch.hpp"
#include "apps/wan/lane.hpp"
#include "apps/wan/options.hpp"
#include "apps/wan/packet_pool.hpp"
#include "apps/wan/plan.hpp"
#include "apps/wan/port.hpp"
#include "apps/wan/report.hpp"

namespace longhaul::apps::wan {

/// All links of the process and the loop of the one thread that serves them.
class Emulator {
 public:
  using Tell = std::function<void(const Event&)>;

  /// Opens every interface; `notes` gets what was changed about them.
  static Result<Emulator> open(const Options& options, std::vector<LinkPlan> plans,
                               std::vector<std::string>& notes);

  /// The moment schedules count from; call once, before `run`.
  void start();
  /// Until a signal or the end of the duration. `look` is called each interval, `tell` when
  /// something happens.
  Result<void> run(InterruptWatch& interrupts, const std::function<void()>& look, const Tell& tell);
  Report report();

 private:
  struct LinkAtWork {
    LinkPlan plan;
    std::array<std::unique_ptr<Port>, 2> ports;  // a, b
    std::array<InterfaceWatch, 2> watches;       // of those
    std::array<std::unique_ptr<Lane>, 2> lanes;  // forward, backward
  };

  Emulator() = default;
  bool serve(const Clocks& clocks);
  Timestamp next_event(Timestamp end, Timestamp next_look) const noexcept;
  void wait(Timestamp now, Timestamp until, InterruptWatch& interrupts);
  void wait_for_frames(Timestamp now, Timestamp until, InterruptWatch& interrupts);
  Result<void> look_at_interfaces(Timestamp now, const Tell& tell);
  void plan_events();
  void tell_planned(Timestamp now, const Tell& tell);
  Timestamp next_planned() const noexcept;

  std::uint64_t seed_ = 0;
  Duration interval_{0};
  std::optional<Duration> duration_;
  std::unique_ptr<PacketPool> pool_;
  std::vector<LinkAtWork> links_;
  Timestamp start_{};
  Timestamp latest_frame_{};
  Timestamp next_interface_look_{};
  std::vector<Event> planned_;  // of all links, in order of time
  std::size_t next_planned_ = 0;
  std::vector<Event> events_;  // told
  std::uint64_t backlog_dropped_at_start_ = 0;
};

}  // namespace longhaul::apps::wan
