// SPDX-License-Identifier: Apache-2.0
#include "perf/compare/programs/tests.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace longhaul::compare {

namespace {

using std::chrono::duration;

Clock::duration in_clock(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(duration<double>(seconds));
}

double milliseconds_since(Clock::time_point begin) {
  return duration<double, std::milli>(Clock::now() - begin).count();
}

/// Sends one message after the other.
class Stopwatch {
 public:
  Stopwatch(Sender& sender, Messages& messages, const Options& options)
      : sender_(sender), messages_(messages), patience_(in_clock(options.deadline)) {}

  /// How long the next message took; nothing if it was given up, which ends the test.
  std::optional<double> next() {
    const auto begin = Clock::now();
    sender_.send(messages_.stamped(sent_++));
    if (sender_.wait_answers(sent_, begin + patience_) == sent_) return milliseconds_since(begin);
    gave_up_ = true;
    unfinished_ = milliseconds_since(begin);
    return std::nullopt;
  }
  std::uint64_t answered() const noexcept { return gave_up_ ? sent_ - 1 : sent_; }
  bool gave_up() const noexcept { return gave_up_; }
  /// Age of the message given up, ms.
  double unfinished() const noexcept { return unfinished_; }

 private:
  Sender& sender_;
  Messages& messages_;
  Clock::duration patience_;
  std::uint64_t sent_ = 0;
  bool gave_up_ = false;
  double unfinished_ = 0;
};

}  // namespace

Json message_test(Sender& sender, Messages& messages, const Options& options) {
  Stopwatch stopwatch(sender, messages, options);
  const auto warm_up_end = Clock::now() + in_clock(options.seconds);
  std::uint64_t warm_up = 0;
  while (warm_up < options.warm_up && Clock::now() < warm_up_end && stopwatch.next()) ++warm_up;

  std::vector<double> completions;
  const auto end = Clock::now() + in_clock(options.seconds);
  while (!stopwatch.gave_up() && completions.size() < options.count && Clock::now() < end) {
    if (const auto took = stopwatch.next()) completions.push_back(*took);
  }
  Json result = {{"completions_ms", completions},
                 {"warm_up", warm_up},
                 {"unfinished_ms", nullptr},
                 {"bytes", stopwatch.answered() * options.size}};
  if (stopwatch.gave_up()) result["unfinished_ms"] = stopwatch.unfinished();
  return result;
}

Json stream_test(Sender& sender, Messages& messages, const Options& options) {
  const auto begin = Clock::now();
  const auto measured_from = begin + in_clock(std::min(options.omit, options.seconds));
  const auto end = begin + in_clock(options.seconds);
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  std::uint64_t answered_before = 0;
  std::optional<Clock::time_point> counting_since;
  for (auto now = begin; now < end; now = Clock::now()) {
    if (now >= measured_from && !counting_since) {
      counting_since = now;
      answered_before = answered;
    }
    while (sent - answered < options.outstanding) {
      sender.send(messages.stamped(sent));
      ++sent;
    }
    answered = sender.wait_answers(answered + 1, counting_since ? end : measured_from);
  }
  const double measured = duration<double>(Clock::now() - counting_since.value_or(begin)).count();
  const auto bytes = static_cast<double>((answered - answered_before) * options.size);
  return {{"goodput_bps", bytes * 8 / measured}, {"bytes", answered * options.size}};
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace longhaul::compare
