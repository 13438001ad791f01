// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/checks.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace longhaul::simtest {
namespace {

using Findings = std::vector<std::string>;

double milliseconds_of(Duration duration) {
  return static_cast<double>(duration.count()) / 1e6;
}

std::string_view name_of(const std::optional<Status>& status) {
  return status ? to_string(*status) : "no completion";
}

std::uint64_t bytes_one_way(const Scenario& scenario) {
  std::uint64_t there = 0;
  std::uint64_t back = 0;
  for (const Load& load : scenario.loads) {
    (load.way == Way::there ? there : back) += load.bytes * load.count;
  }
  return std::max(there, back);
}

void check_requests(const Scenario& scenario, const Outcome& outcome, Findings& found) {
  for (std::size_t i = 0; i < outcome.requests.size(); ++i) {
    const RequestOutcome& request = outcome.requests[i];
    const Load& load = scenario.loads[request.load];
    if (request.sender != load.sender) {
      found.push_back(fmt::format("transfer {}: the send ended with {}, not {}", i,
                                  name_of(request.sender), to_string(load.sender)));
    }
    if (load.posted && request.receiver != load.receiver) {
      found.push_back(fmt::format("transfer {}: the receive ended with {}, not {}", i,
                                  name_of(request.receiver), to_string(load.receiver)));
    }
    if (!request.bytes_equal) {
      found.push_back(fmt::format("transfer {}: the receiver's memory differs", i));
    }
    if (request.receiver == Status::completed_partial &&
        load.send.reliability == Reliability::bounded_loss &&
        request.bytes_missing > load.send.loss_budget) {
      found.push_back(fmt::format("transfer {}: {} bytes are missing, the budget is {}", i,
                                  request.bytes_missing, load.send.loss_budget));
    }
  }
}

void check_time(const Scenario& scenario, const Outcome& outcome, Findings& found) {
  const Expectation& expect = scenario.expect;
  if (expect.completion_max > 0) {
    const double loss = std::max(scenario.there.loss, 0.0);
    const double limit = milliseconds_of(t_star(scenario.line, bytes_one_way(scenario), loss));
    const double taken = milliseconds_of(outcome.completion - expect.completion_extra);
    if (taken > limit * expect.completion_max) {
      found.push_back(
          fmt::format("completion took {:.3f} ms = {:.3f} T*, allowed are {:.3f} T*{}",
                      milliseconds_of(outcome.completion),
                      milliseconds_of(outcome.completion) / limit, expect.completion_max,
                      expect.completion_extra.count() > 0
                          ? fmt::format(" + {:.1f} ms", milliseconds_of(expect.completion_extra))
                          : ""));
    }
  }
  if (expect.all_ended_by.count() > 0 && outcome.ended > expect.all_ended_by) {
    found.push_back(fmt::format("the last request ended at {:.3f} ms, allowed are {:.3f} ms",
                                milliseconds_of(outcome.ended),
                                milliseconds_of(expect.all_ended_by)));
  }
}

void check_counters(const Scenario& scenario, const Outcome& outcome, Findings& found) {
  const Expectation& expect = scenario.expect;
  const std::uint64_t bytes = bytes_one_way(scenario);
  if (expect.packets_max > 0) {
    const double share = static_cast<double>(outcome.client.packets_sent) /
                         static_cast<double>(packets_of(scenario.line, bytes));
    if (share > expect.packets_max) {
      found.push_back(fmt::format("the client sent {} packets = {:.3f} N, allowed are {:.3f} N",
                                  outcome.client.packets_sent, share, expect.packets_max));
    }
  }
  if (expect.retransmitted_max >= 0) {
    const double share =
        static_cast<double>(outcome.client.retransmitted_bytes) / static_cast<double>(bytes);
    if (share > expect.retransmitted_max) {
      found.push_back(fmt::format("{:.5f} of the bytes were sent again, allowed are {:.5f}", share,
                                  expect.retransmitted_max));
    }
  }
  if (outcome.heap_peak > outcome.heap_allowed) {
    found.push_back(fmt::format("the heap grew by {} bytes, the printed budgets allow {}",
                                outcome.heap_peak, outcome.heap_allowed));
  }
}

void check_path(const Scenario& scenario, const Outcome& outcome, Findings& found) {
  const Expectation& expect = scenario.expect;
  const std::uint32_t size = outcome.client.max_datagram;
  if (expect.max_datagram != 0 &&
      (size > expect.max_datagram || size + 16 <= expect.max_datagram)) {
    found.push_back(
        fmt::format("PLPMTU is {} at the end, not {} or little less", size, expect.max_datagram));
  }
  if (expect.black_holes && outcome.client.mtu_black_holes != *expect.black_holes) {
    found.push_back(fmt::format("{} black holes were seen, not {}", outcome.client.mtu_black_holes,
                                *expect.black_holes));
  }
  if (outcome.server.migrations < expect.migrations_min) {
    found.push_back(fmt::format("the server saw {} migrations, not {}", outcome.server.migrations,
                                expect.migrations_min));
  }
  if (outcome.client.limited_by_receiver < expect.limited_by_receiver_min) {
    found.push_back(fmt::format("{:.3f} ms are accounted to the receiver, not {:.3f}",
                                milliseconds_of(outcome.client.limited_by_receiver),
                                milliseconds_of(expect.limited_by_receiver_min)));
  }
  if (expect.dropped &&
      outcome.server_endpoint.dropped[static_cast<std::size_t>(*expect.dropped)] == 0) {
    found.push_back(fmt::format("the server counted no drop as {}", to_string(*expect.dropped)));
  }
}

// A fault that never struck proves nothing. Few packets go back, so there it is asked only of
// faults that should have struck ten times.
void check_faults(const Scenario& scenario, const Outcome& outcome, Findings& found) {
  const auto check = [&](std::string_view way, const netmodel::LinkConfig& faults,
                         const netmodel::LinkStats& stats, double strikes_min) {
    const auto struck = [&](double share, std::uint64_t count, std::string_view what) {
      if (share <= 0 || share * static_cast<double>(stats.offered) < strikes_min) return;
      if (count == 0) found.push_back(fmt::format("the line {} {} no packet", way, what));
    };
    const netmodel::GilbertElliott& burst = faults.burst;
    struck(faults.loss + burst.good_to_bad, stats.lost, "lost");
    struck(faults.corrupt, stats.corrupted, "corrupted");
    struck(faults.duplicate, stats.duplicated, "duplicated");
    struck(faults.reorder_probability, stats.reordered, "reordered");
    struck(faults.jitter_reorders && faults.jitter.count() > 0 ? 1 : 0, stats.reordered,
           "reordered");
    struck(faults.down.empty() ? 0 : 1, stats.down_dropped, "while down dropped");
  };
  check("there", scenario.there, outcome.there, 0);
  check("back", scenario.back, outcome.back, 10);
}

// Placed bytes at a moment: of the newest sample not after it.
std::uint64_t placed_at(const Outcome& outcome, Duration at) {
  std::uint64_t placed = 0;
  for (const auto& [when, bytes] : outcome.placed) {
    if (when > at) break;
    placed = bytes;
  }
  return placed;
}

void check_resume(const Scenario& scenario, const Outcome& outcome, Findings& found) {
  if (!scenario.expect.resume) return;
  const Resume& resume = *scenario.expect.resume;
  const Duration rtt = scenario.line.rtt;
  const std::uint64_t before = placed_at(outcome, resume.up_at);
  Duration first = Duration::max();
  for (const auto& [when, bytes] : outcome.placed) {
    if (when > resume.up_at && bytes > before) {
      first = when - resume.up_at;
      break;
    }
  }
  if (first > resume.first_byte_within) {
    found.push_back(fmt::format("the first byte came {:.3f} ms after the line returned, not {:.3f}",
                                milliseconds_of(first), milliseconds_of(resume.first_byte_within)));
  }
  const std::uint64_t old_rate =
      placed_at(outcome, resume.down_at) - placed_at(outcome, resume.down_at - 4 * rtt);
  const Duration from = resume.up_at + resume.rate_within;
  const std::uint64_t new_rate = placed_at(outcome, from + 4 * rtt) - placed_at(outcome, from);
  if (old_rate == 0 || new_rate < old_rate / 10 * 9) {
    found.push_back(fmt::format("four RTTs carried {} bytes before the outage and {} after",
                                old_rate, new_rate));
  }
}

}  // namespace

std::vector<std::string> violations(const Scenario& scenario, const Outcome& outcome) {
  Findings found;
  check_requests(scenario, outcome, found);
  check_time(scenario, outcome, found);
  check_counters(scenario, outcome, found);
  check_path(scenario, outcome, found);
  check_resume(scenario, outcome, found);
  if (scenario.faults_strike) check_faults(scenario, outcome, found);
  return found;
}

std::vector<std::string> goodput_violations(const Scenario& scenario, const Outcome& disturbed,
                                            const Outcome& undisturbed) {
  const double ratio = static_cast<double>(undisturbed.completion.count()) /
                       static_cast<double>(disturbed.completion.count());
  if (ratio >= scenario.expect.goodput_min) return {};
  return {fmt::format("goodput is {:.3f} of the undisturbed run, at least {:.3f} were expected",
                      ratio, scenario.expect.goodput_min)};
}

std::string figures(const Scenario& scenario, const Outcome& outcome) {
  const std::uint64_t bytes = bytes_one_way(scenario);
  const double limit = milliseconds_of(t_star(scenario.line, bytes, scenario.there.loss));
  return fmt::format(
      "{:.3f} ms = {:.4f} T*, ended {:.3f} ms, {:.4f} N packets, {:.5f} sent again, {} lost, {} "
      "spurious, heap {} of {} KiB",
      milliseconds_of(outcome.completion), milliseconds_of(outcome.completion) / limit,
      milliseconds_of(outcome.ended),
      static_cast<double>(outcome.client.packets_sent) /
          static_cast<double>(std::max<std::uint64_t>(packets_of(scenario.line, bytes), 1)),
      static_cast<double>(outcome.client.retransmitted_bytes) /
          static_cast<double>(std::max<std::uint64_t>(bytes, 1)),
      outcome.client.packets_lost, outcome.client.spurious_losses, outcome.heap_peak >> 10,
      outcome.heap_allowed >> 10);
}

}  // namespace longhaul::simtest
