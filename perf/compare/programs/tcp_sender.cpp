// SPDX-License-Identifier: Apache-2.0
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include <array>
#include <cerrno>
#include <stdexcept>

#include "perf/compare/programs/sockets.hpp"
#include "perf/compare/programs/tcp_pool.hpp"

namespace longhaul::compare {

namespace {

bool try_again() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

int milliseconds_until(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

}  // namespace

void configure_tcp(int socket, const Options& options, const TcpOptions& tcp) {
  force_buffers(socket, options.buffer);
  const int on = 1;
  must(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "set TCP_NODELAY");
  if (tcp.controller.empty()) return;
  must(::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, tcp.controller.data(),
                    static_cast<socklen_t>(tcp.controller.size())),
       "set TCP_CONGESTION to " + tcp.controller +
           " (/proc/sys/net/ipv4/tcp_available_congestion_control says which there are)");
}

TcpSender::TcpSender(const Options& options, const TcpOptions& tcp)
    : tcp_(tcp), buffer_(options.buffer) {
  const SystemAddress server = to_system(options.address, options.port);
  for (std::size_t i = 0; i < tcp.connections; ++i) {
    apps::FileDescriptor socket(
        must(::socket(server.family(), SOCK_STREAM | SOCK_CLOEXEC, 0), "make a TCP socket"));
    configure_tcp(socket.get(), options, tcp);
    must(::connect(socket.get(), server.get(), server.size),
         "connect to " + options.address + " (is the server there?)");
    // Connections may be accepted in another order: each says which it is.
    const auto index = static_cast<std::uint8_t>(i);
    if (::send(socket.get(), &index, 1, 0) != 1) fail_with_errno("greet the server");
    lines_.push_back({std::move(socket), 0, 0});
  }
}

void TcpSender::send(std::span<const std::byte> message) {
  queue_.push_back(message);
  for (std::size_t i = 0; i < lines_.size(); ++i) write_stripes(i);
}

void TcpSender::write_stripes(std::size_t which) {
  Line& line = lines_[which];
  while (has_work(line)) {
    const auto part = stripe(queue_[line.message - first_], which, lines_.size());
    const auto left = part.subspan(line.offset);
    const ssize_t written =
        ::send(line.socket.get(), left.data(), left.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (written < 0 && try_again()) return;
    if (written < 0) fail_with_errno("write to connection " + std::to_string(which));
    line.offset += static_cast<std::size_t>(written);
    if (line.offset == part.size()) {
      ++line.message;
      line.offset = 0;
    }
  }
}

void TcpSender::read_answers() {
  std::array<std::byte, 256> answers{};
  const ssize_t got =
      ::recv(lines_.front().socket.get(), answers.data(), answers.size(), MSG_DONTWAIT);
  if (got < 0 && try_again()) return;
  if (got < 0) fail_with_errno("read an answer");
  if (got == 0) throw std::runtime_error("the server closed the connection; what did it say?");
  if (static_cast<std::size_t>(got) > queue_.size()) {
    throw std::runtime_error("the server answered more messages than were sent");
  }
  queue_.erase(queue_.begin(), queue_.begin() + got);
  first_ += static_cast<std::uint64_t>(got);
}

std::uint64_t TcpSender::wait_answers(std::uint64_t count, Clock::time_point until) {
  std::vector<pollfd> waiting(lines_.size());
  while (first_ < count && Clock::now() < until) {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const int writing = has_work(lines_[i]) ? POLLOUT : 0;
      waiting[i] = {lines_[i].socket.get(), static_cast<short>(writing | (i == 0 ? POLLIN : 0)), 0};
    }
    const int ready = ::poll(waiting.data(), waiting.size(), milliseconds_until(until));
    if (ready < 0 && errno != EINTR) fail_with_errno("poll");
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if ((waiting[i].revents & ~POLLIN) != 0) write_stripes(i);
    }
    if (waiting[0].revents != 0) read_answers();
  }
  return first_;
}

Json TcpSender::about() {
  utsname system{};
  ::uname(&system);
  std::array<char, 16> controller{};
  socklen_t size = controller.size();
  must(::getsockopt(lines_.front().socket.get(), IPPROTO_TCP, TCP_CONGESTION, controller.data(),
                    &size),
       "read TCP_CONGESTION");
  return {{"version", std::string("Linux ") + system.release},
          {"settings",
           {{"controller", controller.data()},
            {"connections", lines_.size()},
            {"buffer", buffer_},
            {"nodelay", true}}}};
}

Json TcpSender::counters() {
  std::uint64_t retransmissions = 0;
  for (const Line& line : lines_) {
    tcp_info info{};
    socklen_t size = sizeof info;
    must(::getsockopt(line.socket.get(), IPPROTO_TCP, TCP_INFO, &info, &size), "read TCP_INFO");
    retransmissions += info.tcpi_total_retrans;
  }
  return {{"retransmitted_packets", retransmissions}};
}

}  // namespace longhaul::compare
