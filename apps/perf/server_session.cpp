// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/server_session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/common/units.hpp"
#include "apps/perf/cookie.hpp"
#include "apps/perf/endpoint_setup.hpp"

namespace longhaul::apps::perf {

namespace {

constexpr Duration kGreetingTimeout = std::chrono::seconds(10);
// A header of 100 MB over a slow line, or a client that reads its file first.
constexpr Duration kStepTimeout = std::chrono::seconds(60);
constexpr Duration kFarewellTimeout = std::chrono::seconds(2);
// While waiting for the first byte, which may overtake `go`.
constexpr Duration kFirstByteStep = std::chrono::milliseconds(1);
constexpr Duration kRetry = std::chrono::microseconds(200);
constexpr Duration kIdleStep = std::chrono::milliseconds(200);

}  // namespace

ServerSession::ServerSession(const Options& options, Reporter& reporter, const Endpoint& endpoint,
                             Connection connection, std::uint64_t test_number)
    : options_(options),
      reporter_(reporter),
      endpoint_(&endpoint),
      connection_(connection),
      connection_id_(connection.id()),
      test_number_(test_number),
      control_(std::move(connection)) {
  if (auto started = control_.start(); !started) abandon(explain(started.error()));
}

void ServerSession::enter(State state, Clock::time_point now) {
  state_ = state;
  state_since_ = now;
}

bool ServerSession::drained() const noexcept {
  return over() && control_.idle() && (!receiver_ || receiver_->idle());
}

void ServerSession::handle(const Completion& completion) {
  if (completion.kind == Completion::Kind::disconnected) return on_disconnected();
  if (completion.kind != Completion::Kind::transfer) return;
  if (purpose_of(completion.cookie) == Purpose::data_receive) {
    if (receiver_) receiver_->on_completion(completion);
    return;
  }
  auto event = control_.on_completion(completion);
  if (!event) {
    // Requests that end because the connection does are explained by `disconnected`.
    if (completion.status == Status::completed || !is_terminal(connection_.status()))
      abandon(explain(event.error()));
    return;
  }
  if (event->message) handle_message(*event->message);
  if (event->blob == kHeaderTag && state_ == State::header) prepare();
  if (event->blob == kDigestTag) digests_here_ = true;
}

void ServerSession::handle_message(const Json& message) {
  const std::string kind = kind_of(message);
  if (kind == kind::error) return abandon(fmt::format("the client says: {}", error_text(message)));
  if (kind == kind::test && state_ == State::greeting) return on_test(message);
  if (kind == kind::go && state_ == State::ready) return start_measuring(Clock::now());
  if (kind == kind::go && state_ == State::running) return;
  if (kind == kind::done && state_ == State::running && !sender_report_) {
    auto report = sender_report_from(message);
    if (!report) return abandon(explain(report.error()));
    sender_report_ = *report;
    return;
  }
  abandon(
      fmt::format("the client sent a message \"{}\" that means nothing here", printable(kind, 40)));
}

void ServerSession::on_test(const Json& message) {
  auto plan = plan_from(message);
  if (!plan) return abandon(explain(plan.error()));
  plan_ = std::move(*plan);
  asked_ = true;
  if (plan_.mode == Mode::stream) return prepare();
  enter(State::header, Clock::now());
  auto expected = control_.expect_blob(kHeaderTag, plan_.header_bytes);
  if (!expected) abandon(explain(expected.error()));
}

void ServerSession::prepare() {
  if (plan_.mode == Mode::stream) {
    auto sink = StreamSink::create(plan_);
    if (!sink) return abandon(explain(sink.error()));
    sink_ = std::move(*sink);
    digests_here_ = true;
  } else {
    auto sink = FileSink::create(plan_, control_.blob(kHeaderTag), options_.output);
    if (!sink) return abandon(explain(sink.error()));
    sink_ = std::move(*sink);
    plan_.transfers = sink_->expected().value_or(0);
    auto expected = control_.expect_blob(kDigestTag, plan_.transfers * kDigestBytes);
    if (!expected) return abandon(explain(expected.error()));
  }
  receiver_.emplace(connection_, *sink_);
  meter_.emplace(plan_.interval, plan_.omit);
  auto posted = receiver_->post();
  if (!posted) return abandon(explain(posted.error()));
  post_again_ = !*posted;
  if (auto sent = control_.send(simple_message(kind::ready)); !sent) {
    return abandon(explain(sent.error()));
  }
  enter(State::ready, Clock::now());
}

void ServerSession::start_measuring(Clock::time_point now) {
  const ConnectionStats stats = connection_.stats().value_or(ConnectionStats{});
  StartInfo info{endpoint_->local_address(),
                 connection_.remote_address(),
                 plan_,
                 "",
                 0,
                 stats.max_datagram,
                 test_number_,
                 endpoint_->stats().value_or(EndpointStats{}).engine};
  reporter_.on_start(info);
  usage_.restart();
  meter_->start(now, 0);
  last_movement_ = now;
  enter(State::running, now);
}

void ServerSession::tick(Clock::time_point now) {
  if (over()) return;
  if (auto flushed = control_.flush(); !flushed && state_ < State::failing) {
    return abandon(explain(flushed.error()));
  }
  if (state_ == State::ready && receiver_->placed_bytes() != 0) start_measuring(now);
  if (state_ == State::running) {
    auto posted = receiver_->post();
    if (!posted) return abandon(explain(posted.error()));
    post_again_ = !*posted;
    measure(now);
    work();
    if (state_ == State::running && complete()) conclude();
  }
  check_time(now);
}

void ServerSession::measure(Clock::time_point now) {
  if (meter_->finished()) return;
  const bool omitting = meter_->omitting();
  const bool time_is_up =
      plan_.time.count() != 0 && !omitting && now >= meter_->counted_from() + plan_.time;
  const std::uint64_t verified = receiver_->verified_bytes();
  if (!time_is_up && !receiver_->all_ended() && !sender_report_) {
    keep(meter_->advance(now, verified));
    if (omitting && !meter_->omitting()) usage_.restart();
    return;
  }
  keep(meter_->finish(now, verified));
  // What follows, such as flushing a file, is not part of the measurement.
  report_.cpu_percent = usage_.cpu_percent();
  report_.peak_rss_mib = usage_.peak_rss_mib();
}

void ServerSession::keep(const std::optional<Interval>& interval) {
  if (!interval || plan_.interval.count() == 0) return;
  intervals_.push_back(*interval);
  if (options_.interval.count() != 0) reporter_.on_interval({*interval, std::nullopt});
}

void ServerSession::work() {
  auto more = sink_->work();
  if (!more) return abandon(explain(more.error()));
  work_left_ = *more;
}

bool ServerSession::complete() const {
  if (!sender_report_ || !digests_here_ || work_left_ || !meter_->finished()) return false;
  return !sink_->expected() || receiver_->all_ended() || sender_report_->interrupted ||
         sender_report_->failed != 0;
}

void ServerSession::conclude() {
  report_.bytes = meter_->bytes();
  report_.seconds = std::chrono::duration<double>(meter_->duration()).count();
  report_.completed = receiver_->completed();
  report_.failed = receiver_->failed();
  report_.intervals = intervals_;
  receiver_->stop();
  if (!receiver_->first_failure().empty()) {
    report_.problems.push_back(fmt::format("a transfer ended {}", receiver_->first_failure()));
  }
  if (sender_report_->failed != 0) report_.problems.emplace_back("transfers failed at the client");
  if (report_.completed == 0 && plan_.transfers != 0) {
    report_.problems.emplace_back("nothing arrived");
  }
  auto concluded = sink_->conclude(control_.blob(kDigestTag), report_.problems);
  if (!concluded) return abandon(explain(concluded.error()));
  report_.digest_ok = report_.problems.empty();
  if (!report_.digest_ok) sink_->discard();
  if (report_.digest_ok && plan_.mode == Mode::file) report_.output = options_.output;
  succeeded_ = report_.digest_ok && !sender_report_->interrupted;
  if (auto sent = control_.send(to_message(report_)); !sent) {
    return abandon(explain(sent.error()));
  }
  report(sender_report_->interrupted ? "the client was interrupted" : "");
  enter(State::reporting, Clock::now());
}

void ServerSession::abandon(std::string_view why) {
  if (state_ >= State::failing) return;
  succeeded_ = false;
  farewell_ = why;
  if (receiver_) receiver_->stop();
  if (sink_) sink_->discard();
  // Best effort: a client that cannot be told this way reads the reason of the close.
  static_cast<void>(control_.send(error_message(why)));
  report(std::string(why));
  enter(State::failing, Clock::now());
}

void ServerSession::on_disconnected() {
  const std::string reason = printable(connection_.reason());
  if (state_ < State::reporting) {
    succeeded_ = false;
    if (receiver_) receiver_->stop();
    if (sink_) sink_->discard();
    report(fmt::format("the client left before the test was over ({}{}{})",
                       longhaul::to_string(connection_.status()), reason.empty() ? "" : ": ",
                       reason));
  }
  enter(State::over, Clock::now());
}

void ServerSession::check_time(Clock::time_point now) {
  const Duration since = now - state_since_;
  switch (state_) {
    case State::greeting:
      if (since > kGreetingTimeout) abandon("the client asked for no test in time");
      break;
    case State::header:
    case State::ready:
      if (since > kStepTimeout) abandon("the client went silent before the test began");
      break;
    case State::running: {
      const std::uint64_t placed = receiver_->placed_bytes();
      if (placed != last_placed_ || work_left_) {
        last_placed_ = placed;
        last_movement_ = now;
      }
      if (now - last_movement_ > kStepTimeout) abandon("nothing has arrived for a minute");
      break;
    }
    case State::reporting:
    case State::failing:
      if (since > kFarewellTimeout || (state_ == State::failing && control_.all_sent())) {
        static_cast<void>(connection_.close(farewell_));
        enter(State::closing, now);
      }
      break;
    case State::closing:
      if (since > kFarewellTimeout) enter(State::over, now);
      break;
    case State::over:
      break;
  }
}

Clock::time_point ServerSession::next_look(Clock::time_point now) const {
  if (state_ == State::running && work_left_) return now;
  Clock::time_point next = now + kIdleStep;
  if (post_again_ || control_.waiting() || !control_.all_sent()) next = now + kRetry;
  if (state_ == State::ready) next = std::min(next, now + kFirstByteStep);
  if (state_ == State::running) {
    if (const auto mark = meter_->next_mark()) next = std::min(next, *mark);
    if (plan_.time.count() != 0 && !meter_->omitting() && !meter_->finished()) {
      next = std::min(next, meter_->counted_from() + plan_.time);
    }
  }
  return next;
}

void ServerSession::report(std::string error) {
  if (reported_) return;
  reported_ = true;
  if (!meter_ || !meter_->started()) {
    reporter_.on_error(fmt::format("client {}: {}", to_string(connection_.remote_address()),
                                   error.empty() ? "no test" : error));
    return;
  }
  Summary summary;
  summary.sending = false;
  summary.plan = plan_;
  summary.sender = sender_report_;
  if (sender_report_ && meter_->finished()) summary.receiver = report_;
  if (!meter_->finished()) meter_->finish(Clock::now(), receiver_->verified_bytes());
  summary.local_bytes = meter_->bytes();
  summary.local_seconds = std::chrono::duration<double>(meter_->duration()).count();
  summary.error = std::move(error);
  reporter_.on_end(summary);
}

}  // namespace longhaul::apps::perf
