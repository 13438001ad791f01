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
constexpr Duration kFarewell = std::chrono::seconds(2);

/// Both families unless one address is asked for. A machine without IPv6 serves IPv4 alone.
Result<std::vector<Endpoint>> open_endpoints(const Options& options) {
  std::vector<SocketAddress> addresses{any_address(AddressFamily::ipv4, options.port),
                                       any_address(AddressFamily::ipv6, options.port)};
  if (!options.bind.empty()) {
    auto bind = resolve(options.bind, options.port);
    if (!bind) return tl::unexpected(std::move(bind.error()));
    addresses = {*bind};
  }
  std::vector<Endpoint> endpoints;
  for (const SocketAddress& address : addresses) {
    auto endpoint = Endpoint::open(endpoint_config(options, address));
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
  void announce();
  /// Takes leave of a session that is over. True when the server has done what it was started for.
  bool retire();
  void say_goodbye();

  const Options& options_;
  std::vector<Endpoint>& endpoints_;
  EventLoop& loop_;
  Reporter& reporter_;
  std::unique_ptr<ServerSession> session_;
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
  if (session_) {
    static_cast<void>(
        connection->close("the server is busy with another test; try again when it is over"));
    return;
  }
  session_ = std::make_unique<ServerSession>(options_, reporter_, endpoint, std::move(*connection),
                                             tests_ + 1);
}

void Server::handle(Endpoint& endpoint, const Completion& completion) {
  if (completion.kind == Completion::Kind::incoming) return welcome(endpoint);
  const auto belongs = [&](const std::unique_ptr<ServerSession>& session) {
    return session && session->owns(endpoint, completion);
  };
  if (belongs(session_)) return session_->handle(completion);
  const auto found = std::find_if(leaving_.begin(), leaving_.end(), belongs);
  if (found != leaving_.end()) (*found)->handle(completion);
}

bool Server::retire() {
  std::erase_if(leaving_, [](const auto& session) { return session->drained(); });
  if (!session_ || !session_->over()) return false;
  const bool was_test = session_->was_test();
  if (was_test) {
    ++tests_;
    last_succeeded_ = session_->succeeded();
  }
  leaving_.push_back(std::move(session_));
  if (was_test && options_.one_off) return true;
  announce();
  return false;
}

void Server::say_goodbye() {
  session_->abandon("the server was interrupted");
  const Clock::time_point deadline = Clock::now() + kFarewell;
  while (!session_->over() && Clock::now() < deadline) {
    session_->tick(Clock::now());
    loop_.run_once(std::min(deadline, session_->next_look(Clock::now())),
                   [this](Endpoint& e, const Completion& c) { handle(e, c); });
  }
}

int Server::run() {
  announce();
  for (;;) {
    const Clock::time_point now = Clock::now();
    loop_.run_once(session_ ? session_->next_look(now) : now + kIdleStep,
                   [this](Endpoint& e, const Completion& c) { handle(e, c); });
    if (session_) session_->tick(Clock::now());
    if (retire()) return last_succeeded_ ? 0 : 1;
    if (loop_.interrupted()) {
      if (session_) {
        say_goodbye();
      } else {
        reporter_.on_note("the server was interrupted");
      }
      return 1;
    }
  }
}

}  // namespace

int run_server(const Options& options, InterruptWatch& interrupts, Reporter& reporter) {
  auto endpoints = open_endpoints(options);
  if (!endpoints) {
    reporter.on_error(explain(endpoints.error()));
    return 1;
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
