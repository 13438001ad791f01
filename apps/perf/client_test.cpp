// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/client_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "apps/common/printable.hpp"
#include "apps/perf/cookie.hpp"
#include "apps/perf/endpoint_setup.hpp"

namespace longhaul::apps::perf {

namespace {

constexpr Duration kReadyTimeout = std::chrono::seconds(60);
// What an interrupted client grants the server to answer with its results.
constexpr Duration kFarewell = std::chrono::seconds(2);
constexpr Duration kProgressStep = std::chrono::milliseconds(100);
constexpr Duration kRetry = std::chrono::microseconds(200);

}  // namespace

ClientTest::ClientTest(const Options& options, Workload& workload, EventLoop& loop,
                       Reporter& reporter, Endpoint& endpoint, Connection connection)
    : options_(options),
      workload_(workload),
      loop_(loop),
      reporter_(reporter),
      endpoint_(endpoint),
      connection_(connection),
      control_(connection),
      traffic_(workload.plan, true, std::move(connection), control_, &reporter) {
  if (workload_.source) traffic_.send_from(*workload_.source, workload_.digests);
}

Result<int> ClientTest::run() {
  auto outcome = negotiate();
  if (outcome) outcome = transfer();
  const bool began = traffic_.started();
  if (!outcome) traffic_.abandon(Clock::now());
  const std::string_view farewell = interrupted_ ? "the client was interrupted"
                                    : outcome    ? "the test is over"
                                                 : "test failed";
  static_cast<void>(connection_.close(farewell));
  // What is known so far is still worth a summary.
  if (!began) return tl::unexpected(std::move(outcome.error()));
  report(outcome ? std::string() : explain(outcome.error()));
  return outcome && traffic_.good() && !interrupted_ ? 0 : 1;
}

Result<void> ClientTest::negotiate() {
  if (auto started = control_.start(); !started) return started;
  if (workload_.sink) {
    if (auto posted = traffic_.receive_into(*workload_.sink); !posted) return posted;
  }
  if (auto sent = control_.send(to_message(workload_.plan)); !sent) return sent;
  if (workload_.file) {
    auto sent = control_.send_blob(kHeaderTag, workload_.file->raw_header());
    if (!sent) return sent;
  }
  const Clock::time_point deadline = Clock::now() + kReadyTimeout;
  while (!ready_) {
    if (Clock::now() >= deadline) {
      return fail(ErrorCode::timed_out,
                  "the server answers no test request; is it longhaul-perf -s of this release?");
    }
    if (auto stepped = step(deadline); !stepped) return stepped;
    if (interrupted_) return fail(ErrorCode::closed, "interrupted before the test began");
  }
  return {};
}

Result<void> ClientTest::transfer() {
  const ConnectionStats stats = connection_.stats().value_or(ConnectionStats{});
  const SocketAddress remote = connection_.remote_address();
  reporter_.on_start({address_toward(options_, endpoint_.local_address(), remote), remote,
                      workload_.plan, true, workload_.source ? stats.controller : "",
                      options_.rate_bps, stats.max_datagram, 0,
                      endpoint_.stats().value_or(EndpointStats{}).engine,
                      std::string(security_name(options_)), stats.peer_identity, stats.cipher});
  if (auto started = traffic_.start(Clock::now()); !started) return started;
  // The server may have a file to flush, which takes as long as its disk needs; Ctrl-C ends that.
  std::optional<Clock::time_point> deadline;
  while (!finished_) {
    const Clock::time_point now = Clock::now();
    if (interrupted_ && !deadline) {
      deadline = now + kFarewell;
      if (auto told = traffic_.interrupt(now); !told) return told;
    }
    if (deadline && now >= *deadline) {
      return fail(ErrorCode::closed, "interrupted, and the server sent no results in time");
    }
    if (auto advanced = traffic_.advance(now); !advanced) return advanced;
    show_progress();
    Clock::time_point until = traffic_.next_look(now);
    if (workload_.file) until = std::min(until, next_progress_);
    if (deadline) until = std::min(until, *deadline);
    if (auto stepped = step(until); !stepped) return stepped;
  }
  return {};
}

void ClientTest::show_progress() {
  if (!workload_.file || traffic_.outgoing()->report() || Clock::now() < next_progress_) return;
  next_progress_ = Clock::now() + kProgressStep;
  const Outgoing& outgoing = *traffic_.outgoing();
  const auto seconds =
      std::chrono::duration<double>(Clock::now() - outgoing.meter().counted_from()).count();
  reporter_.on_progress(outgoing.bytes_left(), workload_.file->header.data_bytes, seconds);
}

void ClientTest::report(std::string error) {
  Summary summary;
  summary.plan = workload_.plan;
  summary.at_client = true;
  summary.directions = traffic_.summary();
  summary.server_output = std::move(server_output_);
  summary.error = std::move(error);
  // With a broken connection the transfers only repeat what its end says.
  if (summary.error.empty()) summary.error = traffic_.failure();
  if (interrupted_ && summary.error.empty()) summary.error = "the client was interrupted";
  if (summary.error.empty() && traffic_.nothing_compared()) summary.error = kNothingCompared;
  reporter_.on_end(summary);
}

Result<void> ClientTest::step(Clock::time_point until) {
  if (control_.waiting()) until = std::min(until, Clock::now() + kRetry);
  loop_.run_once(until, [this](Endpoint&, const Completion& completion) { handle(completion); });
  if (auto flushed = control_.flush(); !flushed && !failure_) set_failure(flushed.error());
  if (loop_.interrupted()) interrupted_ = true;
  if (failure_) return tl::unexpected(*failure_);
  return {};
}

void ClientTest::handle(const Completion& completion) {
  if (completion.kind == Completion::Kind::disconnected) {
    // The server's last word may have come with the same batch, right before its close.
    if (!finished_) set_failure(ended_error(connection_));
    return;
  }
  if (completion.kind != Completion::Kind::transfer) return;
  const Purpose purpose = purpose_of(completion.cookie);
  if (purpose == Purpose::data_send || purpose == Purpose::data_receive) {
    return traffic_.on_completion(completion);
  }
  auto event = control_.on_completion(completion);
  // Requests that end because the connection does are explained by `disconnected`.
  if (!event && (completion.status == Status::completed || !is_terminal(connection_.status())))
    set_failure(std::move(event.error()));
  if (event && event->message) handle_message(*event->message);
}

void ClientTest::handle_message(const Json& message) {
  const std::string kind = kind_of(message);
  if (kind == kind::ready && !ready_) {
    ready_ = true;
    return;
  }
  if (kind == kind::error) {
    return set_failure(
        {ErrorCode::refused, 0, fmt::format("the server says: {}", error_text(message))});
  }
  if (kind == kind::finished && traffic_.complete()) {
    auto transcript = transcript_from(message);
    if (!transcript) return set_failure(std::move(transcript.error()));
    server_output_ = std::move(*transcript);
    finished_ = true;
    return;
  }
  auto known = traffic_.on_message(kind, message);
  if (!known) return set_failure(std::move(known.error()));
  if (!*known) {
    set_failure({ErrorCode::invalid_argument, 0,
                 fmt::format("the server sent a message \"{}\" that means nothing here",
                             printable(kind, 40))});
  }
}

void ClientTest::set_failure(Error error) {
  if (!failure_) failure_ = std::move(error);
}

}  // namespace longhaul::apps::perf
