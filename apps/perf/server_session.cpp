// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/server_session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/common/printable.hpp"
#include "apps/perf/cookie.hpp"
#include "apps/perf/endpoint_setup.hpp"

namespace longhaul::apps::perf {

namespace {

constexpr Duration kGreetingTimeout = std::chrono::seconds(10);
// A header of 100 MB over a slow line, or a client that reads its file first.
constexpr Duration kStepTimeout = std::chrono::seconds(60);
constexpr Duration kFarewellTimeout = std::chrono::seconds(2);
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
  state_since_ = farewell_since_ = now;
  if (state == State::over) pinning_.reset();
}

bool ServerSession::drained() const noexcept {
  return over() && control_.idle() && (!traffic_ || traffic_->idle());
}

void ServerSession::handle(const Completion& completion) {
  if (completion.kind == Completion::Kind::disconnected) return on_disconnected();
  if (completion.kind != Completion::Kind::transfer) return;
  const Purpose purpose = purpose_of(completion.cookie);
  if (purpose == Purpose::data_receive || purpose == Purpose::data_send) {
    if (traffic_) traffic_->on_completion(completion);
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
  if (event->blob == kDigestTag && traffic_) traffic_->on_digests();
}

void ServerSession::handle_message(const Json& message) {
  const std::string kind = kind_of(message);
  if (kind == kind::error) return abandon(fmt::format("the client says: {}", error_text(message)));
  if (kind == kind::test && state_ == State::greeting) return on_test(message);
  if (kind == kind::go && state_ == State::ready) return start_traffic(Clock::now());
  if (kind == kind::go && state_ == State::running) return;
  if (state_ == State::running) {
    auto known = traffic_->on_message(kind, message);
    if (!known) return abandon(explain(known.error()));
    if (*known) return;
  }
  abandon(
      fmt::format("the client sent a message \"{}\" that means nothing here", printable(kind, 40)));
}

void ServerSession::on_test(const Json& message) {
  auto plan = plan_from(message);
  if (!plan) return abandon(explain(plan.error()));
  plan_ = std::move(*plan);
  enter(State::requested, Clock::now());
}

void ServerSession::begin() {
  admitted_ = true;
  if (plan_.server_output) reporter_.record();
  if (plan_.server_cpu) {
    auto pinning = ThreadPinning::pin_others(*plan_.server_cpu);
    if (!pinning) {
      return abandon(
          fmt::format("-A of the client: at the server there is {}", pinning.error().context));
    }
    pinning_.emplace(std::move(*pinning));
  }
  if (plan_.mode == Mode::stream) return prepare();
  enter(State::header, Clock::now());
  auto expected = control_.expect_blob(kHeaderTag, plan_.header_bytes);
  if (!expected) abandon(explain(expected.error()));
}

Result<void> ServerSession::prepare_stream() {
  if (plan_.server_sends()) {
    auto source = StreamSource::create(plan_);
    if (!source) return tl::unexpected(std::move(source.error()));
    source_ = std::make_unique<StreamSource>(std::move(*source));
    traffic_->send_from(*source_);
  }
  if (!plan_.client_sends()) return {};
  auto sink = StreamSink::create(plan_);
  if (!sink) return tl::unexpected(std::move(sink.error()));
  sink_ = std::move(*sink);
  return traffic_->receive_into(*sink_);
}

Result<void> ServerSession::prepare_file() {
  auto sink = FileSink::create(plan_, control_.blob(kHeaderTag), options_.output);
  if (!sink) return tl::unexpected(std::move(sink.error()));
  sink_ = std::move(*sink);
  plan_.transfers = sink_->expected().value_or(0);
  auto expected = control_.expect_blob(kDigestTag, plan_.transfers * kDigestBytes);
  if (!expected) return expected;
  return traffic_->receive_into(*sink_, options_.output);
}

void ServerSession::prepare() {
  traffic_.emplace(plan_, false, connection_, control_,
                   options_.interval.count() != 0 ? &reporter_ : nullptr);
  auto prepared = plan_.mode == Mode::stream ? prepare_stream() : prepare_file();
  if (prepared) prepared = control_.send(simple_message(kind::ready));
  if (!prepared) return abandon(explain(prepared.error()));
  enter(State::ready, Clock::now());
}

void ServerSession::start_traffic(Clock::time_point now) {
  const ConnectionStats stats = connection_.stats().value_or(ConnectionStats{});
  const SocketAddress remote = connection_.remote_address();
  reporter_.on_start({address_toward(options_, endpoint_->local_address(), remote), remote, plan_,
                      false, plan_.server_sends() ? stats.controller : "",
                      plan_.server_sends() ? options_.rate_bps : 0, stats.max_datagram,
                      test_number_, endpoint_->stats().value_or(EndpointStats{}).engine,
                      std::string(security_name(options_)), stats.peer_identity, stats.cipher});
  last_moved_ = now;
  enter(State::running, now);
  if (auto started = traffic_->start(now); !started) abandon(explain(started.error()));
}

void ServerSession::tick(Clock::time_point now) {
  if (over()) return;
  if (auto flushed = control_.flush(); !flushed && state_ < State::failing) {
    return abandon(explain(flushed.error()));
  }
  if (state_ == State::ready && traffic_->moving(now)) start_traffic(now);
  if (state_ == State::running) {
    auto advanced = traffic_->advance(now);
    if (!advanced) return abandon(explain(advanced.error()));
    if (traffic_->complete()) conclude();
  }
  check_time(now);
}

void ServerSession::conclude() {
  succeeded_ = traffic_->good();
  report(std::string(traffic_->interrupted()        ? "the client was interrupted"
                     : traffic_->nothing_compared() ? kNothingCompared
                                                    : ""));
  std::optional<Transcript> transcript;
  if (plan_.server_output) transcript = reporter_.take_transcript();
  auto sent = control_.send(finished_message(transcript ? &*transcript : nullptr));
  if (!sent) return abandon(explain(sent.error()));
  enter(State::reporting, Clock::now());
}

void ServerSession::abandon(std::string_view why) {
  if (state_ >= State::failing) return;
  succeeded_ = false;
  farewell_ = why;
  if (traffic_) traffic_->abandon(Clock::now());
  // Best effort: a client that cannot be told this way reads the reason of the close.
  static_cast<void>(control_.send(error_message(why)));
  report(std::string(why));
  enter(State::failing, Clock::now());
}

void ServerSession::on_disconnected() {
  if (state_ < State::reporting) {
    succeeded_ = false;
    if (traffic_) traffic_->abandon(Clock::now());
    report(fmt::format("the client left before the test was over: {}",
                       explain(ended_error(connection_))));
  }
  enter(State::over, Clock::now());
}

void ServerSession::check_time(Clock::time_point now) {
  const Duration since = now - state_since_;
  switch (state_) {
    case State::greeting:
      if (since > kGreetingTimeout) abandon("the client asked for no test in time");
      break;
    case State::requested:
    case State::header:
    case State::ready:
      if (since > kStepTimeout) abandon("the client went silent before the test began");
      break;
    case State::running: {
      const std::uint64_t movement = traffic_->movement();
      if (movement != last_movement_ || traffic_->working()) {
        last_movement_ = movement;
        last_moved_ = now;
      }
      if (now - last_moved_ > kStepTimeout) abandon("nothing has moved for a minute");
      break;
    }
    case State::reporting:
      // Closing before the client has our report would turn its success into a failure.
      if (!control_.all_sent()) farewell_since_ = now;
      if (now - farewell_since_ > kFarewellTimeout || since > kStepTimeout) {
        static_cast<void>(connection_.close(farewell_));
        enter(State::closing, now);
      }
      break;
    case State::failing:
      if (since > kFarewellTimeout || control_.all_sent()) {
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
  Clock::time_point next = now + kIdleStep;
  if (control_.waiting() || !control_.all_sent()) next = now + kRetry;
  if (state_ == State::ready || state_ == State::running) {
    next = std::min(next, traffic_->next_look(now));
  }
  return next;
}

void ServerSession::report(std::string error) {
  if (reported_) return;
  reported_ = true;
  const std::string client = fmt::format("client {}: {}", to_string(connection_.remote_address()),
                                         error.empty() ? "no test" : error);
  // While another's test is on its way, this is no part of its report.
  if (!admitted_) return reporter_.on_note(client);
  if (!traffic_ || !traffic_->started()) return reporter_.on_error(client);
  Summary summary;
  summary.plan = plan_;
  summary.at_client = false;
  summary.directions = traffic_->summary();
  summary.error = std::move(error);
  reporter_.on_end(summary);
}

}  // namespace longhaul::apps::perf
