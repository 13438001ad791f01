// SPDX-License-Identifier: Apache-2.0
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "tests/api/fixture.hpp"

namespace longhaul::tests {
namespace {

class Connections : public PairTest {
 protected:
  /// Waits for a completion of this kind; fails the test if none comes.
  static Completion next(Endpoint& endpoint, Completion::Kind kind) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      Completion completion;
      if (endpoint.poll({&completion, 1}) == 1 && completion.kind == kind) return completion;
      std::this_thread::sleep_for(milliseconds(1));
    }
    ADD_FAILURE() << "no completion of kind " << static_cast<int>(kind);
    return {};
  }
};

TEST_F(Connections, know_each_others_addresses) {
  ASSERT_NO_FATAL_FAILURE(connect());
  EXPECT_EQ(to_server_.remote_address(), server_.local_address());
  EXPECT_EQ(to_client_.remote_address(), client_.local_address());
  EXPECT_EQ(to_server_.status(), Status::completed);
  EXPECT_EQ(to_client_.status(), Status::completed);
  EXPECT_TRUE(to_server_.reason().empty());
}

/// A port of loopback that hears everything and never answers, not even by ICMP.
class MuteLine {
 public:
  MuteLine() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&here), size), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&here), &size), 0);
    port_ = ntohs(here.sin_port);
  }
  ~MuteLine() { ::close(socket_); }
  MuteLine(const MuteLine&) = delete;
  MuteLine& operator=(const MuteLine&) = delete;

  int number() const noexcept { return socket_; }
  SocketAddress address() const { return loopback(port_); }

 private:
  int socket_;
  std::uint16_t port_ = 0;
};

/// A NAT between a client and its server, which gives the client another port when it is told to.
class Nat {
 public:
  explicit Nat(const SocketAddress& server) : server_(to_system(server)) {
    for (int* side : {&inside_, &outside_[0], &outside_[1]}) {
      *side = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
      const sockaddr_in any = to_system(loopback());
      EXPECT_EQ(::bind(*side, reinterpret_cast<const sockaddr*>(&any), sizeof any), 0);
    }
    thread_ = std::thread([this] { relay(); });
  }
  ~Nat() {
    leave_ = true;
    thread_.join();
    for (const int side : {inside_, outside_[0], outside_[1]}) ::close(side);
  }
  Nat(const Nat&) = delete;
  Nat& operator=(const Nat&) = delete;

  SocketAddress inside() const { return loopback(port_of(inside_)); }
  SocketAddress outside() const { return loopback(port_of(outside_[used_])); }
  /// The old port is dead from then on.
  void rebind() { used_ = 1; }

 private:
  static sockaddr_in to_system(const SocketAddress& address) {
    sockaddr_in system{};
    system.sin_family = AF_INET;
    system.sin_port = htons(address.port);
    std::memcpy(&system.sin_addr, address.bytes.data(), 4);
    return system;
  }
  static std::uint16_t port_of(int side) {
    sockaddr_in system{};
    socklen_t size = sizeof system;
    ::getsockname(side, reinterpret_cast<sockaddr*>(&system), &size);
    return ntohs(system.sin_port);
  }
  void relay() {
    std::vector<char> data(65536);
    sockaddr_in client{};
    while (!leave_) {
      std::array<pollfd, 3> sides{pollfd{inside_, POLLIN, 0}, pollfd{outside_[0], POLLIN, 0},
                                  pollfd{outside_[1], POLLIN, 0}};
      ::poll(sides.data(), sides.size(), 10);
      for (const pollfd& side : sides) {
        if ((side.revents & POLLIN) == 0) continue;
        sockaddr_in from{};
        socklen_t size = sizeof from;
        const ssize_t got = ::recvfrom(side.fd, data.data(), data.size(), 0,
                                       reinterpret_cast<sockaddr*>(&from), &size);
        const bool outward = side.fd == inside_;
        if (got < 0 || (!outward && side.fd != outside_[used_])) continue;
        if (outward) client = from;
        const sockaddr_in& to = outward ? server_ : client;
        ::sendto(outward ? outside_[used_] : inside_, data.data(), static_cast<std::size_t>(got), 0,
                 reinterpret_cast<const sockaddr*>(&to), sizeof to);
      }
    }
  }

  sockaddr_in server_;
  int inside_ = -1;
  std::array<int, 2> outside_{-1, -1};
  std::atomic<std::size_t> used_ = 0;
  std::atomic<bool> leave_ = false;
  std::thread thread_;
};

TEST_F(Connections, follow_a_peer_that_gets_another_address) {
  ASSERT_NO_FATAL_FAILURE(connect());
  Nat nat(server_.local_address());
  const auto outward = client_.connect(nat.inside());
  ASSERT_TRUE(outward) << why(outward);
  const auto inward = server_.accept(kPatience);
  ASSERT_TRUE(inward) << why(inward);
  EXPECT_EQ(inward->remote_address(), nat.outside());
  nat.rebind();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (inward->remote_address() != nat.outside() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_EQ(inward->remote_address(), nat.outside());
  EXPECT_EQ(inward->stats().value().migrations, 1u);
  EXPECT_EQ(inward->status(), Status::completed);
  EXPECT_EQ(outward->remote_address(), nat.inside());
}

TEST_F(Connections, a_seed_fixes_nothing_that_a_stranger_sees) {
  const MuteLine mute;
  const int line = mute.number();
  std::array<std::array<char, 12>, 2> said{};  // connection ID and attempt of an initial
  for (auto& said_once : said) {
    EndpointConfig config = test_config();
    config.seed = 5;
    auto endpoint = Endpoint::open(config);
    ASSERT_TRUE(endpoint) << why(endpoint);
    ASSERT_TRUE(endpoint->connect_async(mute.address()));
    std::array<char, 2048> data;
    pollfd waiting{line, POLLIN, 0};
    ASSERT_EQ(::poll(&waiting, 1, 5000), 1);
    ASSERT_GT(::recv(line, data.data(), data.size(), 0), 1000);
    std::memcpy(said_once.data(), data.data() + 9, said_once.size());
    endpoint->close();
    while (::recv(line, data.data(), data.size(), MSG_DONTWAIT) >= 0) {
    }
  }
  EXPECT_NE(said[0], said[1]);
}

TEST_F(Connections, a_port_nobody_listens_on_is_told_before_the_timeout) {
  EndpointConfig config = test_config();
  auto gone = Endpoint::open(config);
  ASSERT_TRUE(gone) << why(gone);
  const SocketAddress closed = gone->local_address();
  gone->close();
  auto client = Endpoint::open(config);
  ASSERT_TRUE(client) << why(client);
  const auto begin = std::chrono::steady_clock::now();
  const auto refused = client->connect(closed);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::refused);
  EXPECT_NE(refused.error().context.find("nothing listens"), std::string::npos);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, seconds(1));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(6));
}

TEST_F(Connections, an_asynchronous_connect_completes_with_its_cookie) {
  ASSERT_NO_FATAL_FAILURE(connect());
  ConnectOptions options;
  options.cookie = 4711;
  const auto connection = client_.connect_async(server_.local_address(), options);
  ASSERT_TRUE(connection) << why(connection);
  const Completion completion = next(client_, Completion::Kind::connected);
  EXPECT_EQ(completion.status, Status::completed);
  EXPECT_EQ(completion.cookie, 4711U);
  EXPECT_EQ(completion.connection_id, connection->id());
  EXPECT_TRUE(connection->wait_connected(seconds(1)));
  next(server_, Completion::Kind::incoming);
}

TEST_F(Connections, transfers_may_be_posted_while_connecting) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto connection = client_.connect_async(server_.local_address());
  ASSERT_TRUE(connection);
  const auto source = pattern(200'000);
  std::vector<std::uint8_t> target(source.size());
  const auto send = connection->send_tensor(3, view(source));
  ASSERT_TRUE(send) << why(send);
  const auto accepted = server_.accept(kPatience);
  ASSERT_TRUE(accepted) << why(accepted);
  const auto receive = accepted->recv_tensor(3, view(target));
  ASSERT_TRUE(receive);
  EXPECT_EQ(end_of(*receive), Status::completed);
  EXPECT_EQ(end_of(*send), Status::completed);
  EXPECT_EQ(target, source);
}

TEST_F(Connections, a_connect_that_fails_ends_what_was_posted_on_it) {
  ASSERT_NO_FATAL_FAILURE(connect());
  ConnectOptions options;
  options.timeout = milliseconds(200);
  const MuteLine nobody;
  const auto connection = server_.connect_async(nobody.address(), options);
  ASSERT_TRUE(connection);
  std::vector<std::uint8_t> target(10);
  const auto receive = connection->recv_tensor(3, view(target));
  const auto send = connection->send_tensor(3, view(std::as_const(target)));
  ASSERT_TRUE(receive && send);
  EXPECT_NE(end_of(*receive), Status::completed);
  EXPECT_NE(end_of(*send), Status::completed);
  EXPECT_FALSE(connection->wait_connected(kPatience));
}

TEST_F(Connections, a_server_that_is_not_there_times_out) {
  ASSERT_NO_FATAL_FAILURE(connect());
  ConnectOptions options;
  options.timeout = milliseconds(200);
  server_.close();
  const auto connection = client_.connect(server_.local_address(), options);
  ASSERT_FALSE(connection);
  EXPECT_TRUE(connection.error().code == ErrorCode::timed_out ||
              connection.error().code == ErrorCode::refused)
      << why(connection);
}

TEST_F(Connections, an_endpoint_that_does_not_listen_lets_nobody_in) {
  ASSERT_NO_FATAL_FAILURE(connect());
  ConnectOptions options;
  options.timeout = milliseconds(500);
  const auto connection = server_.connect(client_.local_address(), options);
  ASSERT_FALSE(connection);
  EXPECT_TRUE(connection.error().code == ErrorCode::timed_out ||
              connection.error().code == ErrorCode::refused)
      << why(connection);
  EXPECT_EQ(client_.accept().error().code, ErrorCode::invalid_argument);
}

TEST_F(Connections, impossible_addresses_are_refused_at_once) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto six = SocketAddress::parse("::1", 5201).value();
  EXPECT_EQ(client_.connect(six).error().code, ErrorCode::wrong_family);
  EXPECT_EQ(client_.connect(loopback(0)).error().code, ErrorCode::invalid_argument);
  ConnectOptions options;
  options.timeout = Duration::zero();
  EXPECT_EQ(client_.connect(server_.local_address(), options).error().code,
            ErrorCode::invalid_argument);
}

TEST_F(Connections, accept_without_a_client_does_not_wait_or_times_out) {
  ASSERT_NO_FATAL_FAILURE(connect());
  EXPECT_EQ(server_.accept().error().code, ErrorCode::would_block);
  EXPECT_EQ(server_.accept(milliseconds(20)).error().code, ErrorCode::timed_out);
}

TEST_F(Connections, closing_ends_both_sides_and_their_transfers) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::vector<std::uint8_t> target(100);
  const auto here = to_server_.recv_tensor(1, view(target));
  const auto there = to_client_.recv_tensor(1, view(target));
  ASSERT_TRUE(here && there);
  ASSERT_TRUE(to_server_.close("done for today"));
  EXPECT_EQ(end_of(*here), Status::closed);
  EXPECT_EQ(end_of(*there), Status::closed);
  next(server_, Completion::Kind::disconnected);
  next(client_, Completion::Kind::disconnected);
  EXPECT_EQ(to_server_.status(), Status::closed);
  EXPECT_EQ(to_client_.status(), Status::closed);
  EXPECT_NE(to_client_.reason().find("done for today"), std::string::npos) << to_client_.reason();
  const auto late = to_client_.send_tensor(1, view(std::as_const(target)));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::closed);
  EXPECT_TRUE(to_server_.close()) << "closing twice changes nothing";
}

TEST_F(Connections, closing_the_endpoint_ends_everything_before_it_returns) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::vector<std::uint8_t> target(1 << 20);
  std::vector<Transfer> transfers;
  for (Tag tag = 0; tag < 50; ++tag) {
    const auto receive = to_server_.recv_tensor(tag, view(target));
    const auto send = to_server_.send_tensor(tag, view(std::as_const(target)));
    ASSERT_TRUE(receive && send);
    transfers.push_back(*receive);
    transfers.push_back(*send);
  }
  client_.close();
  for (const Transfer& transfer : transfers) {
    EXPECT_EQ(transfer.status(), Status::closed) << transfer.reason();
  }
  EXPECT_EQ(to_server_.status(), Status::closed);
  client_.close();
  EXPECT_EQ(client_.completion_fd(), -1);
  EXPECT_EQ(client_.connect(server_.local_address()).error().code, ErrorCode::closed);
  EXPECT_EQ(client_.stats().error().code, ErrorCode::closed);
  EXPECT_EQ(to_server_.recv_tensor(1, view(target)).error().code, ErrorCode::closed);

  std::size_t completions = 0;
  std::vector<Completion> batch(16);
  while (const std::size_t count = client_.poll(batch)) {
    for (std::size_t i = 0; i < count; ++i) {
      completions += batch[i].kind == Completion::Kind::transfer ? 1U : 0U;
    }
  }
  EXPECT_EQ(completions, transfers.size()) << "what ended can still be polled";
  next(server_, Completion::Kind::disconnected);
  EXPECT_EQ(to_client_.status(), Status::closed);
}

TEST_F(Connections, a_wait_ends_when_another_thread_closes_the_endpoint) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::vector<std::uint8_t> target(10);
  const auto receive = to_server_.recv_tensor(1, view(target));
  ASSERT_TRUE(receive);
  std::thread waiter([&] { EXPECT_EQ(end_of(*receive), Status::closed); });
  std::thread accepter(
      [&] { EXPECT_EQ(server_.accept(kPatience).error().code, ErrorCode::closed); });
  std::this_thread::sleep_for(milliseconds(20));
  client_.close();
  server_.close();
  waiter.join();
  accepter.join();
}

TEST_F(Connections, handles_outlive_the_endpoint) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::vector<std::uint8_t> target(10);
  auto receive = to_server_.recv_tensor(1, view(target));
  ASSERT_TRUE(receive);
  client_ = Endpoint();
  EXPECT_EQ(receive->status(), Status::closed);
  EXPECT_TRUE(receive->cancel());
  EXPECT_TRUE(to_server_.close());
  EXPECT_EQ(to_server_.stats().error().code, ErrorCode::closed);
}

TEST_F(Connections, empty_handles_answer_closed) {
  const Connection connection;
  const Transfer transfer;
  Endpoint endpoint;
  EXPECT_FALSE(connection.valid() || transfer.valid() || endpoint.valid());
  EXPECT_EQ(connection.status(), Status::closed);
  EXPECT_EQ(transfer.wait().error().code, ErrorCode::closed);
  EXPECT_EQ(endpoint.listen().error().code, ErrorCode::closed);
  EXPECT_EQ(endpoint.connect(loopback(1)).error().code, ErrorCode::closed);
  EXPECT_FALSE(endpoint.run_once());
  endpoint.close();
}

TEST_F(Connections, statistics_count_what_was_moved) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto source = pattern(1 << 20);
  std::vector<std::uint8_t> target(source.size());
  const auto receive = to_client_.recv_tensor(1, view(target));
  const auto send = to_server_.send_tensor(1, view(source));
  ASSERT_TRUE(receive && send);
  ASSERT_EQ(end_of(*receive), Status::completed);
  ASSERT_EQ(end_of(*send), Status::completed);
  const auto sent = to_server_.stats();
  const auto received = to_client_.stats();
  ASSERT_TRUE(sent && received) << why(sent) << why(received);
  EXPECT_EQ(sent->tensor_bytes_sent, source.size());
  EXPECT_EQ(received->tensor_bytes_verified, source.size());
  EXPECT_GT(sent->bytes_sent, source.size());
  EXPECT_GT(sent->smoothed_rtt, Duration::zero());
  EXPECT_EQ(sent->controller, "cubic");
  const auto endpoint = server_.stats();
  ASSERT_TRUE(endpoint) << why(endpoint);
  EXPECT_EQ(endpoint->connections, 1U);
  EXPECT_GT(endpoint->datagrams_received, source.size() / 9000);
  EXPECT_GT(endpoint->memory_budget_bytes, 0U);
}

TEST_F(Connections, dump_names_what_is_outstanding) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::vector<std::uint8_t> target(123456);
  const auto receive = to_client_.recv_tensor(987, view(target));
  ASSERT_TRUE(receive);
  std::vector<std::string> lines;
  const auto dumped =
      server_.dump([&](std::string_view line) { lines.emplace_back(line); }, seconds(5));
  ASSERT_TRUE(dumped) << why(dumped);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].rfind("backend kernel, engine ", 0), 0U) << lines[0];
  EXPECT_NE(lines[1].find("987"), std::string::npos) << lines[1];
  EXPECT_NE(lines[1].find("123456"), std::string::npos) << lines[1];
}

TEST_F(Connections, a_peer_that_stops_is_lost_after_its_timeout) {
  EndpointConfig config = test_config();
  config.peer_timeout = milliseconds(400);
  client_ = Endpoint::open(config).value();
  config.threads = ThreadMode::caller_polls;
  config.engine = "auto";
  server_ = Endpoint::open(config).value();
  ASSERT_TRUE(server_.listen());
  std::atomic<bool> alive{true};
  std::thread polling([&] {
    while (alive.load()) {
      if (!server_.run_once()) std::this_thread::sleep_for(milliseconds(1));
    }
  });
  const auto connection = client_.connect(server_.local_address());
  alive.store(false);
  polling.join();
  ASSERT_TRUE(connection) << why(connection);
  std::vector<std::uint8_t> target(10);
  const auto receive = connection->recv_tensor(1, view(target));
  ASSERT_TRUE(receive);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(end_of(*receive), Status::peer_lost);
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(4));
  next(client_, Completion::Kind::disconnected);  // comes after the ends of its transfers
  EXPECT_EQ(connection->status(), Status::peer_lost);
  EXPECT_EQ(connection->send_tensor(1, view(std::as_const(target))).error().code,
            ErrorCode::peer_lost);
}

}  // namespace
}  // namespace longhaul::tests
