// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace longhaul::apps::perf {

namespace {

constexpr Duration kIdleStep = std::chrono::milliseconds(200);

double seconds_of(const IntervalMeter& meter) {
  return std::chrono::duration<double>(meter.duration()).count();
}

}  // namespace

Traffic::Traffic(const TestPlan& plan, bool at_client, Connection connection,
                 ControlChannel& control, Reporter* reporter)
    : plan_(plan),
      at_client_(at_client),
      connection_(std::move(connection)),
      control_(control),
      reporter_(reporter) {}

void Traffic::send_from(Source& source, std::span<const std::byte> digests) {
  // A client's own endpoint keeps its rate; a server's is not made for this test.
  outgoing_.emplace(plan_, connection_, source, at_client_ ? 0 : plan_.server_rate_bps);
  digests_ = digests;
}

Result<void> Traffic::receive_into(Sink& sink, std::string output) {
  incoming_.emplace(plan_, connection_, sink, std::move(output));
  return incoming_->post();
}

Result<void> Traffic::start(Clock::time_point now) {
  // To a server that only receives nothing needs to be said back.
  if (at_client_ || outgoing_) {
    if (auto sent = control_.send(simple_message(kind::go)); !sent) return sent;
  }
  if (outgoing_) outgoing_->start(now);
  // A client's data comes a round trip later, behind the server's own `go`.
  if (incoming_ && !at_client_) incoming_->start(now);
  return {};
}

Result<void> Traffic::advance(Clock::time_point now) {
  if (incoming_) {
    if (auto advanced = incoming_->advance(now, reporter_); !advanced) return advanced;
    if (incoming_->complete() && !incoming_->report()) {
      if (auto concluded = incoming_->conclude(control_.blob(kDigestTag)); !concluded) {
        return concluded;
      }
      if (auto sent = control_.send(to_message(*incoming_->report())); !sent) return sent;
    }
  }
  if (!outgoing_) return {};
  if (auto advanced = outgoing_->advance(now, reporter_); !advanced) return advanced;
  if (done_told_ || !outgoing_->report_due(now)) return {};
  done_told_ = true;
  if (auto sent = control_.send(to_message(*outgoing_->report())); !sent) return sent;
  if (plan_.mode == Mode::stream) return {};
  return control_.send_blob(kDigestTag, digests_);
}

Clock::time_point Traffic::next_look(Clock::time_point now) const {
  Clock::time_point next = now + kIdleStep;
  if (incoming_) next = std::min(next, incoming_->next_look(now));
  if (outgoing_) next = std::min(next, outgoing_->next_look(now));
  return next;
}

void Traffic::on_completion(const Completion& completion) {
  if (purpose_of(completion.cookie) == Purpose::data_send) {
    if (outgoing_) outgoing_->on_completion(completion);
  } else if (incoming_) {
    incoming_->on_completion(completion);
  }
}

Result<bool> Traffic::on_message(std::string_view kind, const Json& message) {
  if (kind == kind::go && at_client_ && incoming_) {
    incoming_->start(Clock::now());
    return true;
  }
  if (kind == kind::stop && !at_client_ && outgoing_ && outgoing_->started()) {
    outgoing_->interrupt(Clock::now());
    return true;
  }
  if (kind == kind::done && incoming_ && incoming_->started() && !incoming_->sender_report()) {
    auto report = sender_report_from(message);
    if (!report) return tl::unexpected(std::move(report.error()));
    incoming_->on_sender_report(*report);
    return true;
  }
  if (kind == kind::results && outgoing_ && done_told_ && !results_) {
    auto report = receiver_report_from(message);
    if (!report) return tl::unexpected(std::move(report.error()));
    results_ = std::move(*report);
    return true;
  }
  return false;
}

Result<void> Traffic::interrupt(Clock::time_point now) {
  if (outgoing_ && outgoing_->started()) outgoing_->interrupt(now);
  if (!incoming_ || incoming_->sender_report() || std::exchange(stop_told_, true)) return {};
  return control_.send(simple_message(kind::stop));
}

void Traffic::abandon(Clock::time_point now) {
  if (outgoing_) outgoing_->abandon(now);
  if (incoming_) incoming_->abandon(now);
}

bool Traffic::moving(Clock::time_point now) {
  return incoming_ && incoming_->arriving(now);
}

std::uint64_t Traffic::movement() const {
  return (incoming_ ? incoming_->placed_bytes() : 0) + (outgoing_ ? outgoing_->bytes_left() : 0);
}

bool Traffic::started() const noexcept {
  return (incoming_ && incoming_->started()) || (outgoing_ && outgoing_->started());
}

bool Traffic::complete() const {
  return (!incoming_ || incoming_->report()) && (!outgoing_ || results_);
}

bool Traffic::idle() const noexcept {
  return (!incoming_ || incoming_->idle()) && (!outgoing_ || outgoing_->idle());
}

bool Traffic::good() const {
  if (!complete() || interrupted() || nothing_compared()) return false;
  return (!incoming_ || incoming_->report()->digest_ok) &&
         (!outgoing_ || (results_->digest_ok && outgoing_->failed() == 0));
}

bool Traffic::nothing_compared() const {
  if (!complete() || plan_.mode != Mode::stream) return false;
  const auto directions = summary();
  return std::ranges::any_of(directions, &DirectionSummary::nothing_compared);
}

bool Traffic::interrupted() const {
  return (outgoing_ && outgoing_->report() && outgoing_->report()->interrupted) ||
         (incoming_ && incoming_->sender_report() && incoming_->sender_report()->interrupted);
}

std::string Traffic::failure() const {
  if (!outgoing_ || outgoing_->first_failure().empty()) return {};
  return fmt::format("a transfer ended {}", outgoing_->first_failure());
}

DirectionSummary Traffic::summary_sent() const {
  return {true, outgoing_->report(), results_, outgoing_->meter().bytes(),
          seconds_of(outgoing_->meter())};
}

DirectionSummary Traffic::summary_received() const {
  return {false, incoming_->sender_report(), incoming_->report(), incoming_->meter().bytes(),
          seconds_of(incoming_->meter())};
}

std::vector<DirectionSummary> Traffic::summary() const {
  std::vector<DirectionSummary> directions;
  if (outgoing_) directions.push_back(summary_sent());
  if (incoming_) directions.push_back(summary_received());
  if (!at_client_) std::reverse(directions.begin(), directions.end());
  return directions;
}

}  // namespace longhaul::apps::perf
