// SPDX-License-Identifier: Apache-2.0
#include "perf/compare/programs/longhaul_ends.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <thread>

namespace longhaul::compare {

namespace {

constexpr Tag kMessages = 1;
constexpr Tag kAnswers = 2;
constexpr auto kLet = std::chrono::microseconds(50);

template <typename T>
T must(Result<T> result, const std::string& what) {
  if (!result) throw std::runtime_error(what + ": " + to_string(result.error()));
  return std::move(*result);
}
void must(const Result<void>& result, const std::string& what) {
  if (!result) throw std::runtime_error(what + ": " + to_string(result.error()));
}

/// Posts until the library has room for it: a full queue is back-pressure, not an error.
template <typename Post>
Transfer post_patiently(const Post& post, const char* what) {
  for (;;) {
    auto posted = post();
    if (posted) return std::move(*posted);
    if (posted.error().code != ErrorCode::would_block) {
      throw std::runtime_error(std::string(what) + ": " + to_string(posted.error()));
    }
    std::this_thread::sleep_for(kLet);
  }
}

Endpoint open(const LonghaulOptions& own, const SocketAddress& local) {
  EndpointConfig config;
  config.local = local;
  config.security = own.security;
  config.psk_file = own.key;
  config.rate_bps = own.rate_bps;
  config.rtt_max = std::chrono::milliseconds(own.rtt_max_ms);
  config.mtu_max = own.mtu;
  config.log = [](LogLevel level, std::string_view line) {
    if (level == LogLevel::error)
      std::fprintf(stderr, "longhaul: %.*s\n", static_cast<int>(line.size()), line.data());
  };
  return must(Endpoint::open(config), "open an endpoint");
}

SocketAddress parse(const std::string& address, std::uint16_t port) {
  return must(SocketAddress::parse(address, port), "--address " + address);
}

void wait_readable(const Endpoint& endpoint, Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  pollfd waiting{endpoint.completion_fd(), POLLIN, 0};
  ::poll(&waiting, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000)));
}

std::string why(const Connection& connection) {
  return std::string(to_string(connection.status())) + " " + connection.reason();
}

}  // namespace

LonghaulSender::LonghaulSender(const Options& options, const LonghaulOptions& own)
    : own_(own),
      outstanding_(options.outstanding),
      sends_(options.outstanding),
      answers_(options.outstanding + 1) {
  const SocketAddress server = parse(options.address, options.port);
  endpoint_ = open(own, parse(server.family == AddressFamily::ipv4 ? "0.0.0.0" : "::", 0));
  connection_ = must(endpoint_.connect(server), "connect to " + options.address);
  for (std::size_t i = 0; i < answers_.size(); ++i) post_answer();
}

void LonghaulSender::post_answer() {
  std::byte* const answer = &answers_[posted_++ % answers_.size()];
  post_patiently([&] { return connection_.recv_tensor(kAnswers, bytes_view(answer, 1)); },
                 "post an answer");
}

void LonghaulSender::send(std::span<const std::byte> message) {
  Transfer& transfer = sends_[sent_++ % outstanding_];
  while (transfer.valid() && transfer.status() == Status::pending)
    take_completions(Clock::now() + std::chrono::seconds(1));
  transfer = post_patiently(
      [&] {
        return connection_.send_tensor(kMessages, bytes_view(message.data(), message.size()));
      },
      "send");
}

void LonghaulSender::take_completions(Clock::time_point until) {
  wait_readable(endpoint_, until);
  std::array<Completion, 64> done;
  const std::size_t count = endpoint_.poll(done);
  for (std::size_t i = 0; i < count; ++i) {
    if (done[i].kind == Completion::Kind::disconnected) {
      throw std::runtime_error("the connection ended: " + why(connection_));
    }
    if (done[i].kind != Completion::Kind::transfer) continue;
    if (done[i].status != Status::completed) {
      throw std::runtime_error("a transfer ended " + std::string(to_string(done[i].status)) + ": " +
                               why(connection_));
    }
    if (done[i].tag != kAnswers) continue;
    ++answered_;
    post_answer();
  }
}

std::uint64_t LonghaulSender::wait_answers(std::uint64_t count, Clock::time_point until) {
  while (answered_ < count && Clock::now() < until) take_completions(until);
  return answered_;
}

Json LonghaulSender::about() {
  const ConnectionStats stats = must(connection_.stats(), "read statistics");
  const EndpointStats endpoint = must(endpoint_.stats(), "read statistics");
  return {{"version", "Longhaul " + std::string(version())},
          {"settings",
           {{"controller", stats.controller},
            {"rate_bps", own_.rate_bps},
            {"rtt_max_ms", own_.rtt_max_ms},
            {"security", own_.security.empty() ? "psk" : own_.security},
            {"cipher", stats.cipher},
            {"engine", endpoint.engine},
            {"max_datagram", stats.max_datagram}}}};
}

Json LonghaulSender::counters() {
  const ConnectionStats stats = must(connection_.stats(), "read statistics");
  return {{"sent_packets", stats.packets_sent},
          {"lost_packets", stats.packets_lost},
          {"spurious_losses", stats.spurious_losses},
          {"retransmitted_bytes", stats.retransmitted_bytes},
          {"smoothed_rtt_us", stats.smoothed_rtt.count() / 1000}};
}

LonghaulReceiver::LonghaulReceiver(const Options& options, const LonghaulOptions& own)
    : endpoint_(open(own, parse(options.address, options.port))) {
  must(endpoint_.listen(), "listen");
}

void LonghaulReceiver::accept() {
  connection_ = must(endpoint_.accept(std::chrono::hours(1)), "accept");
}

void LonghaulReceiver::post(Inbox& inbox, std::uint64_t index) {
  const std::span<std::byte> memory = inbox.slot(index);
  const ReceiveOptions options{.deadline = {}, .piece_events = false, .cookie = index};
  post_patiently(
      [&] {
        return connection_.recv_tensor(kMessages, bytes_view(memory.data(), memory.size()),
                                       options);
      },
      "post a message");
}

void LonghaulReceiver::run(Inbox& inbox) {
  const std::byte answer{1};
  std::uint64_t answered = 0;
  whole_.assign(inbox.slots(), false);
  for (std::uint64_t i = 0; i < inbox.slots(); ++i) post(inbox, i);
  std::array<Completion, 64> done;
  for (;;) {
    wait_readable(endpoint_, Clock::now() + std::chrono::seconds(1));
    const std::size_t count = endpoint_.poll(done);
    for (std::size_t i = 0; i < count; ++i) {
      const Completion& one = done[i];
      if (one.kind == Completion::Kind::disconnected) return;
      if (one.kind != Completion::Kind::transfer || one.tag != kMessages) continue;
      // The client leaves with receives still posted.
      if (one.status != Status::completed) return;
      whole_[one.cookie % inbox.slots()] = true;
    }
    for (; whole_[answered % inbox.slots()]; ++answered) {
      whole_[answered % inbox.slots()] = false;
      inbox.arrived(answered);
      post(inbox, answered + inbox.slots());
      post_patiently([&] { return connection_.send_tensor(kAnswers, bytes_view(&answer, 1)); },
                     "answer");
    }
  }
}

}  // namespace longhaul::compare
