// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>

#include "perf/compare/programs/sockets.hpp"
#include "perf/compare/programs/tcp_pool.hpp"

namespace longhaul::compare {

TcpReceiver::TcpReceiver(const Options& options, const TcpOptions& tcp) : tcp_(tcp) {
  const SystemAddress local = to_system(options.address, options.port);
  listener_ = apps::FileDescriptor(
      must(::socket(local.family(), SOCK_STREAM | SOCK_CLOEXEC, 0), "make a TCP socket"));
  const int on = 1;
  must(::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), "reuse the port");
  // Accepted connections inherit this; the window scale is settled by their first packet.
  configure_tcp(listener_.get(), options, tcp);
  must(::bind(listener_.get(), local.get(), local.size),
       "bind " + options.address + " port " + std::to_string(options.port));
  must(::listen(listener_.get(), 256), "listen");
}

void TcpReceiver::accept() {
  lines_.resize(tcp_.connections);
  for (std::size_t i = 0; i < tcp_.connections; ++i) {
    apps::FileDescriptor socket(
        must(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"));
    std::uint8_t index = 0;
    if (::recv(socket.get(), &index, 1, MSG_WAITALL) != 1 || index >= lines_.size() ||
        lines_[index].socket.get() >= 0) {
      throw std::runtime_error("a client connected that is no compare-tcp with --connections " +
                               std::to_string(tcp_.connections));
    }
    lines_[index].socket = std::move(socket);
  }
}

bool TcpReceiver::read_stripes(std::size_t which, Inbox& inbox) {
  Line& line = lines_[which];
  for (;;) {
    const auto part = stripe(inbox.slot(line.message), which, lines_.size());
    const auto left = part.subspan(line.offset);
    const ssize_t got = ::recv(line.socket.get(), left.data(), left.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return true;
    // A client that has seen enough leaves in the middle of a message.
    if (got <= 0) return false;
    line.offset += static_cast<std::size_t>(got);
    if (line.offset < part.size()) continue;
    ++line.message;
    line.offset = 0;
    // It may have been the last stripe of its message, and the next one may lack memory.
    return true;
  }
}

void TcpReceiver::answer_whole(Inbox& inbox) {
  const auto slowest =
      std::min_element(lines_.begin(), lines_.end(),
                       [](const Line& a, const Line& b) { return a.message < b.message; });
  while (answered_ < slowest->message) {
    inbox.arrived(answered_);
    ++answered_;
    const std::byte answer{1};
    if (::send(lines_.front().socket.get(), &answer, 1, MSG_NOSIGNAL) != 1) return;
  }
}

void TcpReceiver::run(Inbox& inbox) {
  std::vector<pollfd> waiting(lines_.size());
  for (;;) {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const bool has_memory = lines_[i].message < answered_ + inbox.slots();
      waiting[i] = {has_memory ? lines_[i].socket.get() : -1, POLLIN, 0};
    }
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) fail_with_errno("poll");
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (waiting[i].revents != 0 && !read_stripes(i, inbox)) return;
    }
    answer_whole(inbox);
  }
}

}  // namespace longhaul::compare
