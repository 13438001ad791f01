// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "apps/perf/control_channel.hpp"
#include "apps/perf/cookie.hpp"
#include "apps/perf/incoming.hpp"
#include "apps/perf/outgoing.hpp"
#include "apps/perf/report.hpp"

namespace longhaul::apps::perf {

inline constexpr std::string_view kNothingCompared =
    "no transfer completed within the test, so no digest was compared; give the client a longer -t "
    "or a smaller --size";

/// All data of one test at one end, whichever end it is: what it sends, what it receives, or both,
/// and the messages `go`, `stop`, `done` and `results` about them.
class Traffic {
 public:
  /// Everything given must outlive this. Lines of marks go to `reporter` if there is one.
  Traffic(const TestPlan& plan, bool at_client, Connection connection, ControlChannel& control,
          Reporter* reporter);

  /// Before `start`: this end sends, and says these digests at the end.
  void send_from(Source& source, std::span<const std::byte> digests = {});
  /// Before `start`: this end receives. Posts.
  Result<void> receive_into(Sink& sink, std::string output = {});

  /// The client, to begin; the server, when the client has begun.
  Result<void> start(Clock::time_point now);
  /// Does what is due.
  Result<void> advance(Clock::time_point now);
  Clock::time_point next_look(Clock::time_point now) const;
  void on_completion(const Completion& completion);
  void on_digests() { incoming_->on_digests(); }
  /// False when the message is none of those this is about.
  Result<bool> on_message(std::string_view kind, const Json& message);

  /// Ctrl-C at the client: ends both directions in good order.
  Result<void> interrupt(Clock::time_point now);
  /// The test has failed: cancels everything. What is known so far stays in `summary()`.
  void abandon(Clock::time_point now);

  /// Data has arrived or left, ever.
  bool moving(Clock::time_point now);
  /// Grows as long as something moves.
  std::uint64_t movement() const;
  bool working() const noexcept { return incoming_ && incoming_->working(); }
  bool started() const noexcept;
  /// Every report has been made and has arrived.
  bool complete() const;
  /// No memory is the library's.
  bool idle() const noexcept;
  /// Complete, and in each direction there were comparisons and all agreed, and nobody broke it
  /// off.
  bool good() const;
  /// Complete, and in some direction of a stream there was nothing to compare.
  bool nothing_compared() const;
  bool interrupted() const;
  /// Why the first transfer failed; empty if none did.
  std::string failure() const;
  /// Client to server first.
  std::vector<DirectionSummary> summary() const;
  const Outgoing* outgoing() const noexcept { return outgoing_ ? &*outgoing_ : nullptr; }

 private:
  DirectionSummary summary_sent() const;
  DirectionSummary summary_received() const;

  const TestPlan& plan_;
  bool at_client_;
  Connection connection_;
  ControlChannel& control_;
  Reporter* reporter_;
  std::optional<Outgoing> outgoing_;
  std::optional<Incoming> incoming_;
  std::span<const std::byte> digests_;
  bool done_told_ = false;
  bool stop_told_ = false;
  std::optional<ReceiverReport> results_;  ///< the other end's, about what this end sent
};

}  // namespace longhaul::apps::perf
