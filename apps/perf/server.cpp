// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "apps/perf/endpoint_setup.hpp"
#include "apps/perf/event_loop.hpp"
#include "apps/perf/server_session.hpp"

namespace longhaul::apps::perf {

namespace {

constexpr Duration kIdleStep = std::chrono::seconds(1);
// A session costs some KiB; who says nothing is forgotten after ten seconds anyway.
constexpr std::size_t kVisitorsMax = 64;
constexpr Duration kFarewell = std::chrono::seconds(2);

/// Both families unless one address is asked for. A machine without IPv6 serves IPv4 alone.
Result<std::vector<Endpoint>> open_endpoints(const Options& options) {
  std::vector<SocketAddress> addresses;
  for (const AddressFamily family : {AddressFamily::ipv4, AddressFamily::ipv6}) {
    if (options.family && *options.family != family) continue;
    auto local = local_address(options, family, options.port);
    if (!local) return tl::unexpected(std::move(local.error()));
    addresses.push_back(*local);
    if (!options.bind.empty()) break;
  }
  std::vector<Endpoint> endpoints;
  for (const SocketAddress& address : addresses) {
    auto endpoint = open_endpoint(options, address);
    if (!endpoint) {
      const bool optional =
          !endpoints.empty() && endpoint.error().code != ErrorCode::address_in_use;
      if (optional) continue;
      return tl::unexpected(std::move(endpoint.error()));
    }
    if (auto listening = endpoint->listen(); !listening) {
      return tl::unexpected(std::move(listening.error()));
    }
    // The worker answers in order: once it does, it lets clients in, and the banner is true.
    if (auto heard = endpoint->stats(); !heard) return tl::unexpected(std::move(heard.error()));
    endpoints.push_back(std::move(*endpoint));
  }
  return endpoints;
}

class Server {
 public:
  Server(const Options& options, std::vector<Endpoint>& endpoints, EventLoop& loop,
         Reporter& reporter)
      : options_(options), endpoints_(endpoints), loop_(loop), reporter_(reporter) {}

  int run();

 private:
  void handle(Endpoint& endpoint, const Completion& completion);
  void welcome(Endpoint& endpoint);
  /// Of those who were let in, the first to ask for a test gets it. A session that only listens
  /// holds nobody up.
  void admit();
  void tick();
  Clock::time_point next_look() const;
  void announce();
  /// Takes leave of a session that is over. True when the server has done what it was started for.
  bool retire();
  void say_goodbye();

  const Options& options_;
  std::vector<Endpoint>& endpoints_;
  EventLoop& loop_;
  Reporter& reporter_;
  /// Whose test it is.
  std::unique_ptr<ServerSession> session_;
  /// Connected, and have not asked for a test yet or are being turned away. Oldest first.
  std::vector<std::unique_ptr<ServerSession>> visitors_;
  /// Over, but some of their memory is still the library's.
  std::vector<std::unique_ptr<ServerSession>> leaving_;
  std::uint64_t tests_ = 0;
  bool last_succeeded_ = true;
};

void Server::announce() {
  std::vector<SocketAddress> addresses;
  for (const Endpoint& endpoint : endpoints_) addresses.push_back(endpoint.local_address());
  reporter_.on_listening(addresses, tests_ + 1);
}

void Server::welcome(Endpoint& endpoint) {
  auto connection = endpoint.accept();
  if (!connection) return;
  if (visitors_.size() == kVisitorsMax) {
    visitors_.front()->abandon("others asked for a test first; try again");
    leaving_.push_back(std::move(visitors_.front()));
    visitors_.erase(visitors_.begin());
  }
  visitors_.push_back(std::make_unique<ServerSession>(options_, reporter_, endpoint,
                                                      std::move(*connection), tests_ + 1));
}

void Server::handle(Endpoint& endpoint, const Completion& completion) {
  if (completion.kind == Completion::Kind::incoming) return welcome(endpoint);
  const auto belongs = [&](const std::unique_ptr<ServerSession>& session) {
    return session && session->owns(endpoint, completion);
  };
  if (belongs(session_)) return session_->handle(completion);
  for (const auto* group : {&visitors_, &leaving_}) {
    const auto found = std::find_if(group->begin(), group->end(), belongs);
    if (found != group->end()) return (*found)->handle(completion);
  }
}

void Server::admit() {
  for (auto& visitor : visitors_) {
    if (!visitor->wants_test()) continue;
    if (session_) {
      visitor->abandon("the server is busy with another test; try again when it is over");
    } else {
      session_ = std::move(visitor);
      session_->begin();
    }
  }
  std::erase(visitors_, nullptr);
}

void Server::tick() {
  const Clock::time_point now = Clock::now();
  admit();
  if (session_) session_->tick(now);
  for (auto& group : {&visitors_, &leaving_}) {
    for (auto& session : *group) session->tick(now);
  }
}

Clock::time_point Server::next_look() const {
  const Clock::time_point now = Clock::now();
  Clock::time_point next = now + kIdleStep;
  if (session_) next = std::min(next, session_->next_look(now));
  for (const auto* group : {&visitors_, &leaving_}) {
    for (const auto& session : *group) next = std::min(next, session->next_look(now));
  }
  return next;
}

bool Server::retire() {
  std::erase_if(leaving_, [](const auto& session) { return session->drained(); });
  bool somebody_left = false;
  for (auto& visitor : visitors_) {
    if (!visitor->over()) continue;
    leaving_.push_back(std::move(visitor));
    somebody_left = true;
  }
  std::erase(visitors_, nullptr);
  if (session_ && session_->over()) {
    ++tests_;
    last_succeeded_ = session_->succeeded();
    leaving_.push_back(std::move(session_));
    if (options_.one_off) return true;
    somebody_left = true;
  }
  if (somebody_left && !session_) announce();
  return false;
}

void Server::say_goodbye() {
  const bool unheard = loop_.output_gone();
  const std::string_view why =
      unheard ? "the server ends, since nobody reads its output any more; start it with -D or "
                "--logfile, or let its reader stay"
              : "the server was interrupted";
  const bool report_will_say = session_ && !session_->reported();
  if (!report_will_say && unheard) reporter_.on_error(why);
  if (!report_will_say && !unheard) reporter_.on_note(why);
  if (session_) session_->abandon(why);
  for (auto& visitor : visitors_) visitor->abandon(why);
  const Clock::time_point deadline = Clock::now() + kFarewell;
  const auto gone = [](const auto& session) { return session->over(); };
  while (Clock::now() < deadline && ((session_ && !session_->over()) ||
                                     !std::all_of(visitors_.begin(), visitors_.end(), gone))) {
    tick();
    loop_.run_once(std::min(deadline, next_look()),
                   [this](Endpoint& e, const Completion& c) { handle(e, c); });
  }
}

int Server::run() {
  announce();
  for (;;) {
    loop_.run_once(next_look(), [this](Endpoint& e, const Completion& c) { handle(e, c); });
    tick();
    if (retire()) return last_succeeded_ ? 0 : 1;
    if (loop_.interrupted()) {
      say_goodbye();
      return 1;
    }
  }
}

}  // namespace

int run_server(const Options& options, InterruptWatch& interrupts, Reporter& reporter,
               const std::function<Result<void>()>& listening) {
  auto endpoints = open_endpoints(options);
  if (!endpoints) {
    reporter.on_error(explain(endpoints.error()));
    return 1;
  }
  if (listening) {
    if (auto told = listening(); !told) {
      reporter.on_error(explain(told.error()));
      return 1;
    }
  }
  EventLoop loop(interrupts);
  for (Endpoint& endpoint : *endpoints) loop.add(endpoint);
  Server server(options, *endpoints, loop, reporter);
  const int status = server.run();
  // Before the sessions go: until then their memory may be written by the library.
  for (Endpoint& endpoint : *endpoints) endpoint.close();
  return status;
}

}  // namespace longhaul::apps::perf
