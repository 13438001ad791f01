// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "apps/common/interrupt.hpp"
#include "apps/perf/intervals.hpp"
#include "longhaul/endpoint.hpp"

namespace longhaul::apps::perf {

/// Waits for completions of endpoints, for Ctrl-C and for time, in one thread.
class EventLoop {
 public:
  using Handler = std::function<void(Endpoint&, const Completion&)>;

  explicit EventLoop(InterruptWatch& interrupts) : interrupts_(interrupts) {}

  /// The endpoint must outlive the loop.
  void add(Endpoint& endpoint) { endpoints_.push_back(&endpoint); }
  /// Hands every waiting completion to `handler`; waits for one until `until`. Ctrl-C ends the
  /// wait once, when it comes.
  void run_once(Clock::time_point until, const Handler& handler);
  bool interrupted() { return interrupts_.interrupted(); }
  bool output_gone() const noexcept { return interrupts_.output_gone(); }

 private:
  bool drain(const Handler& handler);
  void wait(Clock::time_point until);

  InterruptWatch& interrupts_;
  std::vector<Endpoint*> endpoints_;
};

}  // namespace longhaul::apps::perf
